#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "simulator/attention/budget.h"
#include "simulator/attention/recording.h"

namespace kvplan::attention::schemes::d2o {
namespace {

constexpr std::array kParams{
    Param{.name = "scores",
          .help = "For each query head, the variance of the column sums of the prompt's attention. "
                  "\"measured\" takes it from the recording. Otherwise a JSON file with one list per layer, "
                  "or the lists themselves",
          .kind = ParamKind::kText,
          .fallback = kMeasured,
          .names_file = true},
    ratio_param("hh_ratio", "Share of the prompt that is kept for its attention, averaged over layers",
                "0.1"),
    ratio_param("recent_ratio", "Share of the prompt that is kept because it is newest, averaged over layers",
                "0.1")};

constexpr double kTiny = 1e-6;  // added to a difference that may be zero, as in the original code

/// Mean over the heads of their variances, scaled to 0 .. 1 within the layer.
double unevenness(const std::vector<double>& variances) {
  const auto [low, high] = std::minmax_element(variances.begin(), variances.end());
  double sum = 0;
  for (const double each : variances) sum += (each - *low) / (*high - *low + kTiny);
  return sum / static_cast<double>(variances.size());
}

Result<Retained> retained(const BudgetInput& input) {
  const auto layers = static_cast<std::size_t>(input.layers);
  if (input.scores.size() != layers)
    return bad_input("expected a list for each of " + std::to_string(layers) + " layers, found " +
                     std::to_string(input.scores.size()))
        .at_field("d2o:scores");
  std::vector<double> weight;
  double sum = 0;
  for (const auto& variances : input.scores) {
    if (variances.empty())
      return bad_input("expected one number per query head, found none").at_field("d2o:scores");
    weight.push_back(std::exp(-unevenness(variances)));
    sum += weight.back();
  }
  const double heavy = input.choice.decimal("hh_ratio");
  const double recent = input.choice.decimal("recent_ratio");
  if (!(heavy + recent > 0)) return bad_input("expected shares above 0").at_field("d2o:hh_ratio");
  const auto seen = static_cast<double>(input.prompt + 1);  // at the first decode step
  std::vector<double> out;
  for (const double each : weight) {
    const double ratio = std::clamp(each / sum * static_cast<double>(layers) * (heavy + recent), 0.01, 1.0);
    out.push_back(std::floor(seen * ratio * (heavy / (heavy + recent))) +
                  std::floor(seen * ratio * (recent / (heavy + recent))));
  }
  Retained made = by_layer(out);
  made.whole.resize(layers);
  for (const std::size_t layer : {std::size_t{0}, std::size_t{1}, layers - 1}) {
    if (layer >= layers) continue;
    made.whole[layer] = true;
    made.tokens[layer][0] = static_cast<double>(input.prompt);
  }
  return made;
}

/// Adds the rows of token t to the sums of columns.
void add_rows(const LayerRows& rows, std::int64_t t, std::vector<std::vector<double>>& sums) {
  for (std::size_t head = 0; head < sums.size(); ++head) {
    const RowView row = rows.row(static_cast<std::int32_t>(head));
    for (std::size_t i = 0; i <= static_cast<std::size_t>(t); ++i)
      sums[head][i] += row.f64 != nullptr ? row.f64[i] : static_cast<double>(row.f32[i]);
  }
}

/// The variance with divisor n - 1, as in torch.var; 0 for a single number.
double variance(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double each : values) mean += each;
  mean /= n;
  double sum = 0;
  for (const double each : values) sum += (each - mean) * (each - mean);
  return sum / (n - 1);
}

Result<std::vector<std::vector<double>>> measure(const Recording& recording, std::int32_t sequence,
                                                 std::int64_t prompt) {
  std::vector<std::vector<double>> out;
  for (std::int32_t layer = 0; layer < recording.info().layers; ++layer) {
    const Status recorded = check_recorded_layer(recording, sequence, layer);
    if (!recorded.ok() && recorded.error().field != "--layer") return recorded.error();
    // The caller did not name this layer, so the error must name it.
    if (!recorded.ok())
      return bad_input("measures the attention of all layers, but a layer cannot be used: " +
                       recorded.error().message)
          .at_field("d2o:scores");
    const LayerInfo info = recording.info().layer(layer);
    if (const std::string missing = missing_heads(info); !missing.empty())
      return bad_input("measures the attention of all heads, but layer " + std::to_string(layer) + " " +
                       missing)
          .at_field("d2o:scores");
    const std::int64_t tokens = recording.tokens(sequence, layer);
    if (!info.has_rows() || tokens < prompt)
      return bad_input("measures the attention of the prompt: expected rows of the first " +
                       std::to_string(prompt) + " tokens in layer " + std::to_string(layer) + ", found " +
                       std::to_string(info.has_rows() ? tokens : 0))
          .at_field("d2o:scores");
    KVPLAN_TRY(const auto rows, recording.open(sequence, layer));
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(info.query_heads),
                                          std::vector<double>(static_cast<std::size_t>(prompt)));
    for (std::int64_t t = 0; t < prompt; ++t) {
      KVPLAN_TRY_DO(rows->seek(t));
      add_rows(*rows, t, sums);
    }
    out.emplace_back();
    for (const auto& columns : sums) out.back().push_back(variance(columns));
  }
  return out;
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor = {.family = kBudgetFamily,
                   .name = "d2o",
                   .summary = "Gives larger budgets to layers with evenly spread attention; the first two "
                              "layers and the last keep everything",
                   .source = "AIoT-MLSys-Lab/D2O@12c99d8 LMEval_kv_token_merge/modeling_llama3_7b_13b_d2o.py",
                   .params = kParams,
                   .divergences =
                       "The public code computes a number per layer and leaves the layer's share to a "
                       "patched library. kvplan uses share = softmax(-number) x layers x ratio, limited to 1 "
                       "to 100 %. It measures as the public code does: it sums each query head's prompt rows "
                       "by column and takes the variance as torch.var does (divided by n - 1). D2O's merging "
                       "of evicted tokens is not part of this budget scheme."},
    .takes_scores = true,
    .retained = retained,
    .measure = measure};

}  // namespace kvplan::attention::schemes::d2o
