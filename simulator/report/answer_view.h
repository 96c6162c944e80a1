// The input of the sentences of an answer: a comparison with shared results.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "simulator/report/number_text.h"
#include "simulator/report/variant_names.h"
#include "simulator/study/answer.h"

namespace kvplan::report {

/// Relative difference below which values are called equal.
inline constexpr double kTie = 0.005;

inline std::string count_words(std::int64_t number, const char* one, const char* many) {
  return grouped(number) + " " + (number == 1 ? one : many);
}

inline bool tied(double a, double b) {
  return std::fabs(a - b) <= kTie * std::max(std::fabs(a), std::fabs(b));
}

/// A comparison with what every sentence needs.
struct View {
  explicit View(const runs::Comparison& c) : comparison(c), names(c), base(runs::baseline_of(c)) {
    for (std::size_t v = 0; v < c.variants.size(); ++v) {
      if (!c.variants[v].result) continue;
      const runs::RunSummary& r = result(v);
      if (r.completed > 0) ++served;
      (runs::same_work(r, result(base)) && r.completed > 0 ? same : apart).push_back(v);
    }
  }
  [[nodiscard]] const runs::RunSummary& result(std::size_t v) const { return *comparison.variants[v].result; }
  [[nodiscard]] std::string name(std::size_t v) const { return names.in_words(v); }
  [[nodiscard]] std::string start(std::size_t v) const { return names.at_start(v); }
  /// True if some variant that ran is not `alike` the first.
  [[nodiscard]] bool differs_in(bool (*alike)(const runs::RunSummary&, const runs::RunSummary&)) const {
    return std::any_of(comparison.variants.begin(), comparison.variants.end(),
                       [&](const runs::Variant& v) { return v.result && !alike(*v.result, result(base)); });
  }

  const runs::Comparison& comparison;
  VariantNames names;
  std::size_t base;
  std::vector<std::size_t> same;   ///< variants with the same work as the first that ran, itself included
  std::vector<std::size_t> apart;  ///< variants with other work
  std::size_t served{0};           ///< variants that completed a request
};

/// The best variant at a metric (the first of several that tie), and the one that it is compared with.
struct Pair {
  std::size_t best, other;
  double best_value, other_value;
  std::int64_t alike{0};  ///< number of other variants with equal values
};

/// The pair among `variants`. None if fewer than two have the figure.
inline std::optional<Pair> best_and_other(const View& view, const runs::Metric& metric,
                                          const std::vector<std::size_t>& variants) {
  std::vector<std::pair<double, std::size_t>> values;
  for (const std::size_t v : variants)
    if (const auto value = metric.value(view.result(v))) values.emplace_back(*value, v);
  if (values.size() < 2) return std::nullopt;
  const auto better = [&](const auto& a, const auto& b) {
    return metric.less_is_better ? a.first < b.first : a.first > b.first;
  };
  const double best = std::min_element(values.begin(), values.end(), better)->first;
  const auto worst = std::max_element(values.begin(), values.end(), better);
  const auto is_best = [&](const auto& value) { return tied(value.first, best); };
  const auto named = std::find_if(values.begin(), values.end(), is_best);
  const auto& other = named == values.begin() ? *worst : values.front();
  return Pair{named->second, other.second, named->first, other.first,
              std::count_if(values.begin(), values.end(), is_best) - 1};
}

/// The pair among variants with the same work.
inline std::optional<Pair> best_and_other(const View& view, const runs::Metric& metric) {
  return best_and_other(view, metric, view.same);
}

}  // namespace kvplan::report
