#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>

#include "simulator/attention/budget.h"

namespace kvplan::attention::schemes::squeeze {
namespace {

constexpr std::array kParams{
    Param{.name = "scores",
          .help = "Cosine similarity of the hidden state before and after attention: a JSON file with one "
                  "number per layer, or the numbers themselves",
          .kind = ParamKind::kText,
          .fallback = {},
          .names_file = true},
    ratio_param("share", "Share of the prompt that layers keep on average", "0.21"),
    ratio_param("low", "Share of the prompt that the most similar layers keep", "0.08")};

/// Sum of squares around the mean of sorted values [begin, end).
double spread(const std::vector<double>& sorted, std::size_t begin, std::size_t end) {
  double mean = 0;
  for (std::size_t i = begin; i < end; ++i) mean += sorted[i];
  mean /= static_cast<double>(end - begin);
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += (sorted[i] - mean) * (sorted[i] - mean);
  return sum;
}

/// The size of the highest of three groups of the sorted values: the first division into three with the least spread.
std::size_t highest_of_three(const std::vector<double>& sorted) {
  double least = std::numeric_limits<double>::infinity();
  std::size_t count = 0;
  for (std::size_t i = 1; i + 1 < sorted.size(); ++i)
    for (std::size_t j = i + 1; j < sorted.size(); ++j) {
      const double sum = spread(sorted, 0, i) + spread(sorted, i, j) + spread(sorted, j, sorted.size());
      if (sum >= least) continue;
      least = sum;
      count = sorted.size() - j;
    }
  return count;
}

Result<Retained> retained(const BudgetInput& input) {
  std::vector<double> similarity;
  for (const auto& layer : input.scores) {
    if (layer.size() != 1)
      return bad_input("expected one number for each layer, found " + std::to_string(layer.size()))
          .at_field("squeeze:scores");
    similarity.push_back(layer[0]);
  }
  const auto layers = static_cast<std::size_t>(input.layers);
  if (similarity.size() != layers)
    return bad_input("expected a list for each of " + std::to_string(layers) + " layers, found " +
                     std::to_string(similarity.size()))
        .at_field("squeeze:scores");
  if (layers < 3)
    return bad_input("expected at least 3 layers to form three groups, found " + std::to_string(layers))
        .at_field("squeeze");
  // Order by similarity; among equal layers the later one counts as more similar.
  std::vector<std::size_t> order(layers);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return similarity[a] < similarity[b]; });
  std::vector<double> sorted;
  sorted.reserve(layers);
  for (const std::size_t layer : order) sorted.push_back(similarity[layer]);
  const std::size_t similar = highest_of_three(sorted);
  const double low = input.choice.decimal("low");
  const double high =
      (static_cast<double>(layers) * input.choice.decimal("share") - static_cast<double>(similar) * low) /
      static_cast<double>(layers - similar);
  if (high < 0)
    return bad_input("nothing is left for the other layers: expected at most share x layers / " +
                     std::to_string(similar) + " similar layers")
        .at_field("squeeze:low");
  std::vector<double> out(layers);
  for (std::size_t i = 0; i < layers; ++i) {
    const double share = i + similar >= layers ? low : high;
    out[order[i]] = std::min(1.0, share) * static_cast<double>(input.prompt);
  }
  return by_layer(out);
}

}  // namespace

extern const BudgetKind kMember;
const BudgetKind kMember{
    .descriptor = {.family = kBudgetFamily,
                   .name = "squeeze",
                   .summary =
                       "Moves budget away from layers in which attention changes the hidden state little",
                   .source = "hetailang/SqueezeAttention@a1933d1",
                   .params = kParams,
                   .divergences =
                       "The public code groups layers by a randomly started k-means; kvplan takes the three "
                       "groups with the smallest spread. The public code multiplies by a fixed 8000 tokens; "
                       "kvplan multiplies by the prompt length. No layer keeps more than its prompt."},
    .takes_scores = true,
    .retained = retained};

}  // namespace kvplan::attention::schemes::squeeze
