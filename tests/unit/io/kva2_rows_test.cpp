// Rows computed from tensors of version 2 (window, soft cap, sinks, bias) compared with the plain formula, and the
// results of policies: with recorded rows, with sinks, with a subset of heads.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/attention/tensor_rows.h"
#include "simulator/io/kva_reader.h"
#include "simulator/io/kva_shape.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/io/kva2_samples.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::LayerInfo;
using attention::Outcome;
using attention::Part;
using attention::Recording;
using attention::Sets;

std::shared_ptr<const Recording> opened(const FullSample& sample) {
  auto recording = open_kva(random_access_of(kva2_of(sample, Codec::kPlanesZstd, 7), "x.kva"));
  EXPECT_TRUE(recording.ok()) << recording.error().to_string();
  return recording.ok() ? recording.value() : nullptr;
}

struct NaiveRow {
  std::vector<double> weights;  ///< of the requested positions
  double sink{0};
};

/// The softmax by the page's formula over the given positions. Heads have their numbers in the model.
NaiveRow softmax(const FullSample& sample, const LayerInfo& layer, int head, int t,
                 const std::vector<int>& over) {
  const auto& q = sample.numbers.at({0, layer.layer, Part::kQueries, head});
  const auto& k = sample.numbers.at(
      {0, layer.layer, Part::kKeys, head / (layer.model_query_heads / layer.model_kv_heads)});
  const auto position = [&](int i) {
    return sample.positions.empty() ? double(i) : double(sample.positions.at(0)[static_cast<std::size_t>(i)]);
  };
  std::vector<double> s;
  for (const int i : over) {
    double dot = 0;
    for (int c = 0; c < layer.key_size; ++c)
      dot += double(q[static_cast<std::size_t>(t * layer.key_size + c)]) *
             double(k[static_cast<std::size_t>(i * layer.key_size + c)]);
    double logit = layer.logit_scale * dot;
    if (layer.soft_cap > 0) logit = layer.soft_cap * std::tanh(logit / layer.soft_cap);
    if (!layer.bias_slopes.empty())
      logit += layer.bias_slopes[static_cast<std::size_t>(head)] * (position(i) - position(t));
    s.push_back(logit);
  }
  const double sink =
      layer.sink_logits.empty() ? 0 : std::exp(layer.sink_logits[static_cast<std::size_t>(head)]);
  double sum = sink;
  NaiveRow out;
  for (std::size_t i = 0; i < over.size(); ++i) {
    const bool seen = layer.window == 0 || over[i] > t - layer.window;
    out.weights.push_back(seen ? std::exp(s[i]) : 0);
    sum += out.weights.back();
  }
  for (double& weight : out.weights) weight = sum > 0 ? weight / sum : 0;
  out.sink = sum > 0 ? sink / sum : 0;
  return out;
}

std::vector<int> up_to(int t) {
  std::vector<int> out;
  for (int i = 0; i <= t; ++i) out.push_back(i);
  return out;
}

TEST(KvaTwoRows, ComputedRowsObeyWindowCapSinksAndBias) {
  int layers = 0;
  int windows = 0;
  int sinks = 0;
  int biases = 0;
  int caps = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "rows2");
    const FullSample sample = full_sample(random, 1, 40);
    const auto recording = opened(sample);
    ASSERT_NE(recording, nullptr);
    for (const LayerInfo& layer : sample.info.recorded_layers) {
      if (!layer.parts.has(Part::kQueries)) continue;
      ++layers;
      windows += layer.window > 0 ? 1 : 0;
      sinks += layer.sink_logits.empty() ? 0 : 1;
      biases += layer.bias_slopes.empty() ? 0 : 1;
      caps += layer.soft_cap > 0 ? 1 : 0;
      auto rows = recording->open(0, layer.layer);
      ASSERT_TRUE(rows.ok()) << rows.error().to_string();
      for (int t = 0; t < sample.info.sequences[0].tokens; ++t) {
        ASSERT_TRUE(rows.value()->seek(t).ok());
        for (std::int32_t h = 0; h < layer.query_heads; ++h) {
          const NaiveRow expected = softmax(sample, layer, layer.model_query_head(h), t, up_to(t));
          const attention::RowView found = rows.value()->exact_row(h);
          for (std::size_t i = 0; i < expected.weights.size(); ++i)
            ASSERT_NEAR(found.f64[i], expected.weights[i], 1e-13) << t << " " << i;
          ASSERT_NEAR(found.sink, expected.sink, 1e-13);
        }
      }
    }
  }
  EXPECT_GT(layers, 50);
  for (const int count : {windows, sinks, biases, caps}) EXPECT_GT(count, 20);
}

/// A layer with everything that changes logits, in one sequence.
FullSample plain_sample(std::uint64_t seed, int tokens, bool rows_too) {
  FullSample sample;
  sample.info = everything(2);
  sample.info.sequences = {{"s", tokens, tokens / 2}};
  for (attention::StoredPart& stored : sample.info.stored)
    if (stored.element == Element::kBf16) stored.element = Element::kF16;
  for (LayerInfo& layer : sample.info.recorded_layers) {
    layer.parts = {Part::kQueries, Part::kKeys, Part::kValues};
    if (rows_too) layer.parts.add(Part::kRows);
    layer.window = 11;
    layer.soft_cap = 2;
    layer.sink_logits = {0.5, -1, 2, 0};
    layer.bias_slopes = {0.1, 0.2, 0, 0.05};
  }
  Random random(seed, "plain");
  fill_sample(sample, random);
  return sample;
}

std::vector<double> output(const FullSample& sample, const LayerInfo& layer, int head,
                           const std::vector<int>& over, const std::vector<double>& weights) {
  const auto& v = sample.numbers.at({0, layer.layer, Part::kValues, head / 2});
  std::vector<double> out(static_cast<std::size_t>(layer.value_size));
  for (std::size_t i = 0; i < over.size(); ++i)
    for (std::size_t c = 0; c < out.size(); ++c)
      out[c] += weights[i] * double(v[static_cast<std::size_t>(over[i]) * out.size() + c]);
  return out;
}

double relative(const std::vector<double>& whole, const std::vector<double>& part) {
  double off = 0;
  double all = 0;
  for (std::size_t c = 0; c < whole.size(); ++c) {
    off += (whole[c] - part[c]) * (whole[c] - part[c]);
    all += whole[c] * whole[c];
  }
  return std::sqrt(off / all);
}

/// A second implementation of H2O: the softmax over the kept tokens, with the sink in its denominator.
TEST(KvaTwoRows, PoliciesRenormaliseWithTheSink) {
  constexpr int kTokens = 40;
  constexpr int kPrompt = 15;
  const FullSample sample = plain_sample(4, kTokens, false);
  const LayerInfo& layer = sample.info.recorded_layers[1];
  const auto recording = opened(sample);
  ASSERT_NE(recording, nullptr);
  const Outcome found = attention::run_policy(*recording, "h2o:hh=5,recent=4", kPrompt, 1);
  double most_mass = 0;
  for (int kv = 0; kv < 2; ++kv) {
    std::vector<int> kept;
    std::vector<double> acc(kTokens);
    for (int t = 0; t < kTokens; ++t) {
      kept.push_back(t);
      for (int h = 2 * kv; h < 2 * kv + 2; ++h) {
        const NaiveRow row = softmax(sample, layer, h, t, kept);
        for (std::size_t i = 0; i < kept.size(); ++i)
          acc[static_cast<std::size_t>(kept[i])] += row.weights[i] / 2;
        if (t < kPrompt) continue;
        const NaiveRow full = softmax(sample, layer, h, t, up_to(t));
        double mass = 0;
        for (const int p : kept) mass += full.weights[static_cast<std::size_t>(p)];
        most_mass = std::max(most_mass, mass);
        const auto step = static_cast<std::size_t>(t - kPrompt);
        const auto head = static_cast<std::size_t>(h);
        EXPECT_NEAR(found.mass[step][head], mass, 1e-12);
        EXPECT_NEAR(found.error[step][head],
                    relative(output(sample, layer, h, up_to(t), full.weights),
                             output(sample, layer, h, kept, row.weights)),
                    1e-9);
      }
      while (t >= kPrompt - 1 && kept.size() > 9) {
        std::size_t worst = 0;
        for (std::size_t i = 0; i + 4 < kept.size(); ++i)
          if (acc[static_cast<std::size_t>(kept[i])] < acc[static_cast<std::size_t>(kept[worst])]) worst = i;
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(worst));
      }
      if (t < kPrompt) continue;
      EXPECT_EQ(found.retained[static_cast<std::size_t>(t - kPrompt)][static_cast<std::size_t>(kv)],
                std::vector<std::int32_t>(kept.begin(), kept.end()));
    }
  }
  EXPECT_LT(most_mass, 0.99) << "sinks take their share";
}

/// Recorded rows decide which tokens are dropped; queries, keys and values give the effect on the output.
TEST(KvaTwoRows, RowsDriveAndTensorsMeasure) {
  constexpr int kTokens = 30;
  constexpr int kPrompt = 10;
  const FullSample both = plain_sample(5, kTokens, true);
  FullSample rows_only = both;
  rows_only.info.stored = {{Part::kRows, Element::kF32}};
  for (LayerInfo& layer : rows_only.info.recorded_layers) layer.parts = {Part::kRows};
  rows_only.numbers.clear();
  rows_only.classes.clear();
  rows_only.positions.clear();
  rows_only.info.token_classes.clear();
  const LayerInfo& layer = both.info.recorded_layers[0];
  const auto mixed = opened(both);
  const auto rows = opened(rows_only);
  ASSERT_TRUE(mixed != nullptr && rows != nullptr);
  const Outcome by_both = attention::run_policy(*mixed, "h2o:hh=3,recent=3", kPrompt);
  const Outcome by_rows = attention::run_policy(*rows, "h2o:hh=3,recent=3", kPrompt);
  EXPECT_EQ(by_both.retained, by_rows.retained);
  EXPECT_EQ(by_both.mass, by_rows.mass);
  EXPECT_FALSE(by_rows.summary.mean_output_error.has_value());
  for (int t = kPrompt; t < kTokens; ++t)
    for (int h = 0; h < 4; ++h) {
      const auto step = static_cast<std::size_t>(t - kPrompt);
      const Sets& before = step == 0 ? by_both.after_prefill : by_both.retained[step - 1];
      std::vector<int> attended(before[static_cast<std::size_t>(h / 2)].begin(),
                                before[static_cast<std::size_t>(h / 2)].end());
      attended.push_back(t);
      const NaiveRow full = softmax(both, layer, h, t, up_to(t));
      const NaiveRow part = softmax(both, layer, h, t, attended);
      EXPECT_NEAR(by_both.error[step][static_cast<std::size_t>(h)],
                  relative(output(both, layer, h, up_to(t), full.weights),
                           output(both, layer, h, attended, part.weights)),
                  1e-9);
    }
}

/// A file with some heads gives the same results for them as a file with all heads.
TEST(KvaTwoRows, ASubsetOfHeadsIsThoseHeads) {
  for (const bool rows : {false, true}) {
    const FullSample all = plain_sample(6, 25, rows);
    FullSample some = all;
    for (LayerInfo& layer : some.info.recorded_layers) {
      layer.recorded_kv_heads = {1};
      layer.kv_heads = 1;
      layer.query_heads = 2;
    }
    const auto drop = [](auto& map) {
      for (auto at = map.begin(); at != map.end();) {
        const auto part = std::get<2>(at->first);
        const int first = part == Part::kKeys || part == Part::kValues ? 1 : 2;
        at = std::get<3>(at->first) < first ? map.erase(at) : std::next(at);
      }
    };
    drop(some.numbers);
    drop(some.rows);
    const auto whole = opened(all);
    const auto part = opened(some);
    ASSERT_TRUE(whole != nullptr && part != nullptr);
    const Outcome of_all = attention::run_policy(*whole, "h2o:hh=3,recent=3", 8);
    const Outcome of_some = attention::run_policy(*part, "h2o:hh=3,recent=3", 8);
    ASSERT_EQ(of_some.retained.size(), of_all.retained.size());
    for (std::size_t step = 0; step < of_all.retained.size(); ++step) {
      EXPECT_EQ(of_some.retained[step][0], of_all.retained[step][1]);
      for (std::size_t h = 0; h < 2; ++h) {
        EXPECT_EQ(of_some.mass[step][h], of_all.mass[step][h + 2]);
        EXPECT_EQ(of_some.error[step][h], of_all.error[step][h + 2]);
      }
    }
    EXPECT_EQ(of_some.summary.bytes * 2, of_all.summary.bytes);
    ASSERT_FALSE(of_some.summary.assumptions.empty());
    EXPECT_NE(of_some.summary.assumptions[0].find("only KV heads 1 were recorded"), std::string::npos);
  }
}

/// The rest of a row is spread over its window only.
TEST(KvaTwoRows, TopRowsStayInTheirWindow) {
  FullSample sample;
  sample.info = everything(1);
  sample.info.stored = {{Part::kTopRows, Element::kF64}};
  sample.info.token_classes.clear();
  LayerInfo& layer = sample.info.recorded_layers[0];
  layer.parts = {Part::kTopRows};
  layer.model_query_heads = layer.model_kv_heads = layer.query_heads = layer.kv_heads = layer.group = 1;
  layer.window = 3;
  layer.sink_logits = {1};
  std::string bytes;
  auto writer = KvaWriter::make(sample.info, Codec::kZlib, [&bytes](std::string_view part) -> Status {
    bytes += part;
    return Done{};
  });
  ASSERT_TRUE(writer.ok() && writer.value()->begin_sequence("s", 1).ok());
  const std::vector<TopRow> rows{
      {{0}, {.5}, 0}, {{}, {}, .5}, {{2}, {.25}, .5}, {{2}, {.25}, .5}, {{2, 3, 4}, {.25, .25, .25}, 0}};
  ASSERT_TRUE(writer.value()->top_rows({}, 0, rows).ok());
  ASSERT_TRUE(writer.value()->end_sequence(0, 5).ok() && writer.value()->finish().ok());
  const auto recording = open_kva(random_access_of(bytes, "x.kva"));
  ASSERT_TRUE(recording.ok()) << recording.error().to_string();
  auto reader = recording.value()->open(0, 0);
  ASSERT_TRUE(reader.ok());
  const std::vector<std::vector<double>> expected{
      {.5}, {.25, .25}, {.25, .25, .25}, {0, .25, .25, .25}, {0, 0, .25, .25, .25}};
  const std::vector<double> sinks{.5, .5, .25, .25, .25};
  for (std::size_t t = 0; t < 5; ++t) {
    ASSERT_TRUE(reader.value()->seek(static_cast<std::int64_t>(t)).ok());
    const attention::RowView row = reader.value()->row(0);
    for (std::size_t i = 0; i <= t; ++i) EXPECT_EQ(row.f64[i], expected[t][i]) << t << " " << i;
    EXPECT_NEAR(row.sink, sinks[t], 1e-15);
  }
}

TEST(KvaTwoRows, PoliciesSayWhatIsMissing) {
  FullSample sample = plain_sample(8, 12, true);
  for (LayerInfo& layer : sample.info.recorded_layers) layer.parts = {Part::kRows, Part::kKeys};
  for (auto at = sample.numbers.begin(); at != sample.numbers.end();)
    at = std::get<2>(at->first) == Part::kKeys ? std::next(at) : sample.numbers.erase(at);
  const auto recording = opened(sample);
  ASSERT_NE(recording, nullptr);
  const auto error = [&](const char* text) {
    const auto policy = attention::parse_policy(text);
    EXPECT_TRUE(policy.ok());
    const auto done =
        attention::evaluate(*recording, {.policy = policy.value(), .prompt = 6, .sequence = 0, .layer = 0},
                            [](const auto& /*replay*/) -> Status { return Done{}; });
    return done.ok() ? "" : done.error().to_string();
  };
  EXPECT_EQ(error("knorm:budget=3"), "");
  EXPECT_EQ(error("r-kv:budget=3,window=2"),
            "r-kv: decides by queries, which this recording does not have (attention rows and keys only): "
            "expected a .kva file with queries, keys and values");
  EXPECT_EQ(error("lagkv:budget=3,lag=2"),
            "lagkv: decides by values, which this recording does not have (attention rows and keys only): "
            "expected a .kva file with queries, keys and values");
}

}  // namespace
}  // namespace kvplan::io
