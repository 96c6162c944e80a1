#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "simulator/attention/budget.h"

namespace kvplan::attention {
namespace {

constexpr std::array kParams{
    Param{.name = "scores",
          .help = "Variance of each query head's column sums of the prompt's attention: a JSON file with a "
                  "list for each layer, or the lists themselves",
          .kind = ParamKind::kText,
          .fallback = {},
          .names_file = true},
    ratio_param("hh_ratio", "Share of the prompt kept for its attention, on average over the layers", "0.1"),
    ratio_param("recent_ratio", "Share of the prompt kept for being newest, on average over the layers",
                "0.1")};

constexpr double kTiny = 1e-6;  // beside a difference that may be zero, as in the original

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
      return bad_input("expected a number for each query head, found none").at_field("d2o:scores");
    weight.push_back(std::exp(-unevenness(variances)));
    sum += weight.back();
  }
  const double heavy = input.choice.decimal("hh_ratio");
  const double recent = input.choice.decimal("recent_ratio");
  if (!(heavy + recent > 0)) return bad_input("expected shares above zero").at_field("d2o:hh_ratio");
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

}  // namespace

extern const BudgetKind kD2o;
const BudgetKind kD2o{
    .descriptor = {.family = kBudgetFamily,
                   .name = "d2o",
                   .summary =
                       "Gives more to layers with even attention; the first two and the last keep everything",
                   .source = "AIoT-MLSys-Lab/D2O@12c99d8 LMEval_kv_token_merge/modeling_llama3_7b_13b_d2o.py",
                   .params = kParams,
                   .divergences =
                       "The public code computes a layer's figure and leaves its share to a patched library; "
                       "here it is softmax(-figure) x layers x ratio, held to 1 to 100 %. Merging of what is "
                       "dropped is not part of a budget."},
    .takes_scores = true,
    .retained = retained};

}  // namespace kvplan::attention
