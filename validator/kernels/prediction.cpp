#include "validator/kernels/prediction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simulator/base/check.h"

namespace kvplan::validator {
namespace {

/// Ranks from 1 on; equal values share the mean of their ranks.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end + 1) / 2;
    i = end;
  }
  return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace

Axes axes_of(const Case& of) {
  if (of.lengths.empty())
    return {.batch = static_cast<double>(of.descriptors), .length = static_cast<double>(of.descriptor_bytes)};
  if (of.kernel == "append")
    return {.batch = static_cast<double>(of.lengths.size()), .length = static_cast<double>(of.budget)};
  const auto tokens = std::accumulate(of.lengths.begin(), of.lengths.end(), std::int64_t{0});
  const auto batch = static_cast<double>(of.lengths.size());
  return {.batch = batch, .length = static_cast<double>(tokens) / batch};
}

std::string group_of(const Case& of) {
  Case rest = of;
  rest.lengths.clear();
  rest.descriptors = rest.descriptor_bytes = 0;
  if (rest.kernel == "append") rest.budget = 0;  // as many as the lengths say
  return describe(rest);
}

void Grid::add(const std::string& group, const Axes& at, double ns) {
  groups_[group][at.batch][at.batch * at.length] = ns;
}

double Grid::on_curve(const Curve& curve, double tokens) {
  auto above = curve.lower_bound(tokens);
  if (above != curve.end() && above->first == tokens) return above->second;
  if (curve.size() == 1) return curve.begin()->second * tokens / curve.begin()->first;
  if (above == curve.begin()) ++above;
  if (above == curve.end()) --above;
  const auto below = std::prev(above);
  const double slope = (above->second - below->second) / (above->first - below->first);
  const double straight = below->second + slope * (tokens - below->first);
  return tokens < curve.begin()->first
             ? std::max(straight, curve.begin()->second * tokens / curve.begin()->first)
             : straight;
}

std::optional<double> Grid::predict(const std::string& group, const Axes& at) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return std::nullopt;
  const auto& batches = found->second;
  const auto above = batches.lower_bound(at.batch);
  if (above == batches.end()) return std::nullopt;
  const double tokens = at.batch * at.length;
  if (above->first == at.batch) return on_curve(above->second, tokens);
  if (above == batches.begin()) return std::nullopt;
  const auto below = std::prev(above);
  const double share = (at.batch - below->first) / (above->first - below->first);
  return (1 - share) * on_curve(below->second, tokens) + share * on_curve(above->second, tokens);
}

PredictionErrors prediction_errors(const std::vector<double>& predicted,
                                   const std::vector<double>& measured) {
  KVPLAN_CHECK(predicted.size() == measured.size());
  PredictionErrors out{.rows = static_cast<std::int64_t>(measured.size()),
                       .predicted = static_cast<std::int64_t>(predicted.size())};
  if (predicted.empty()) return out;
  std::vector<double> errors;
  double time = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double off = predicted[i] / measured[i] - 1;
    errors.push_back(std::abs(off));
    out.bias += off;
    out.mean_by_time += std::abs(off) * measured[i];
    time += measured[i];
  }
  const auto n = static_cast<double>(errors.size());
  out.bias /= n;
  out.mean_by_time /= time;
  out.mean = std::accumulate(errors.begin(), errors.end(), 0.0) / n;
  out.rank_correlation = correlation(ranks(predicted), ranks(measured));
  std::sort(errors.begin(), errors.end());
  const auto share = [&](double of) { return errors[static_cast<std::size_t>(std::ceil(of * n)) - 1]; };
  out.median = share(0.5);
  out.p90 = share(0.9);
  out.p99 = share(0.99);
  out.worst = errors.back();
  return out;
}

}  // namespace kvplan::validator
