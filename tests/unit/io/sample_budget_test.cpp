// What D2O's budget measures on the bundled recording, compared with a new softmax of its queries and keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "simulator/attention/tensor_rows.h"
#include "simulator/io/attention_json.h"
#include "simulator/io/budget_files.h"

namespace kvplan::io {
namespace {

using attention::LayerTensors;

constexpr std::int32_t kSequence = 3;
constexpr std::int64_t kPrompt = 96;

/// Column sums of one query head's attention over the prompt.
std::vector<double> column_sums(const LayerTensors& of, std::size_t head) {
  const auto size = static_cast<std::size_t>(of.key_size);
  const auto& keys = of.keys[head / static_cast<std::size_t>(of.query_heads / of.kv_heads)];
  std::vector<double> sums(kPrompt);
  for (std::size_t t = 0; t < sums.size(); ++t) {
    std::vector<double> row;
    double all = 0;
    for (std::size_t i = 0; i <= t; ++i) {
      double product = 0;
      for (std::size_t c = 0; c < size; ++c)
        product +=
            static_cast<double>(of.queries[head][t * size + c]) * static_cast<double>(keys[i * size + c]);
      row.push_back(std::exp(of.scale * product));
      all += row.back();
    }
    for (std::size_t i = 0; i <= t; ++i) sums[i] += row[i] / all;
  }
  return sums;
}

double variance(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double pairs = 0;  // the mean over all pairs of half their squared difference
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) pairs += (values[i] - values[j]) * (values[i] - values[j]);
  return pairs / (n * (n - 1));
}

TEST(SampleBudget, D2oMeasuresTheRecordedPrompt) {
  const auto recording =
      open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  const auto choice = parse_component("d2o:hh_ratio=0.2,recent_ratio=0.1", attention::kBudgetFamily,
                                      attention::budget_descriptors());
  const auto found = attention::budget_of(choice.value()).measure(*recording, kSequence, kPrompt);
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  const std::int32_t layers = recording->info().layers;
  ASSERT_EQ(found.value().size(), static_cast<std::size_t>(layers));
  std::vector<double> weight;
  double sum = 0;
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    const LayerTensors tensors = recording->tensors(kSequence, layer).value();
    ASSERT_TRUE(tensors.plain_logits() && tensors.sink_logits.empty());
    std::vector<double> variances;
    for (std::size_t head = 0; head < static_cast<std::size_t>(tensors.query_heads); ++head) {
      variances.push_back(variance(column_sums(tensors, head)));
      EXPECT_NEAR(found.value()[static_cast<std::size_t>(layer)].at(head), variances.back(),
                  1e-9 * variances.back());
    }
    // Heads differ enough to be distinguished.
    const auto [low, high] = std::minmax_element(variances.begin(), variances.end());
    EXPECT_GT(*high, 1.1 * *low);
    double figure = 0;
    for (const double each : variances) figure += (each - *low) / (*high - *low + 1e-6);
    weight.push_back(std::exp(-figure / static_cast<double>(variances.size())));
    sum += weight.back();
  }
  // The result: layers 0, 1 and the last keep everything, the others share by their evenness.
  const auto retained = retained_of(choice.value(), layers, kPrompt, {recording.get(), kSequence});
  ASSERT_TRUE(retained.ok()) << retained.error().to_string();
  for (std::size_t layer = 0; layer < weight.size(); ++layer) {
    const bool whole = layer < 2 || layer + 1 == weight.size();
    EXPECT_EQ(retained.value().leaves_alone(layer), whole);
    const double share = weight[layer] / sum * layers;
    const double tokens = std::floor((kPrompt + 1) * share * 0.2) + std::floor((kPrompt + 1) * share * 0.1);
    EXPECT_EQ(retained.value().tokens[layer].front(), whole ? kPrompt : tokens) << layer;
  }
  // Without a recording, its numbers must be given.
  const auto alone = retained_of(choice.value(), layers, kPrompt);
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().field, "d2o:scores");
}

}  // namespace
}  // namespace kvplan::io
