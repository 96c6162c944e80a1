#include "simulator/survey/row_sums.h"

#include <algorithm>

#include "simulator/base/real.h"

namespace kvplan::survey {

RowSums::RowSums(std::int64_t tokens)
    : tokens_(tokens),
      got_(static_cast<std::size_t>(far_tokens(tokens)), 0.0),
      points_(top_mass_points(tokens)),
      top_(points_.size(), 0.0),
      held_(points_.size()) {
  std::reverse(points_.begin(), points_.end());
  for (auto& half : pivotal_) half.assign(static_cast<std::size_t>(tokens / 2), false);
  for (auto& half : excess_) half.assign(static_cast<std::size_t>(tokens / 2), 0.0);
}

void copy_row(const attention::RowView& row, std::int64_t t, std::vector<double>& out) {
  const auto n = static_cast<std::size_t>(t) + 1;
  out.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = row.f64 != nullptr ? row.f64[i] : static_cast<double>(row.f32[i]);
}

void RowSums::add(std::int64_t t, const attention::RowView& view) {
  copy_row(view, t, row_);
  const std::size_t n = row_.size();
  double entropy = 0;
  for (const double weight : row_) {
    if (weight > kThreshold) ++above_;
    if (weight > 0) entropy -= weight * natural_log(weight);
  }
  entropy_ += entropy;
  effective_ += exponential(entropy);
  if (t >= 1) relative_ += entropy / natural_log(static_cast<double>(n));
  if (t >= kSinks)
    for (std::size_t i = 0; i < static_cast<std::size_t>(kSinks); ++i) sinks_ += row_[i];
  add_pivotal(t);
  if (t >= kLateRow) add_late(t, view);
}

void RowSums::add_pivotal(std::int64_t t) {
  const std::size_t half = t < tokens_ / 2 ? 0 : 1;
  const double even = 1 / static_cast<double>(row_.size());
  for (std::size_t i = 0; i < std::min(row_.size(), pivotal_[half].size()); ++i) {
    if (row_[i] > even) pivotal_[half][i] = true;
    excess_[half][i] += row_[i] - even;
  }
}

void RowSums::finish_pivotal(Values& out) const {
  const auto put = [&out](const auto& is_pivotal, std::size_t tokens, Figure persistence, Figure chance) {
    std::int64_t first = 0;
    std::int64_t second = 0;
    std::int64_t both = 0;
    for (std::size_t i = 0; i < tokens; ++i) {
      first += is_pivotal(0, i) ? 1 : 0;
      second += is_pivotal(1, i) ? 1 : 0;
      both += is_pivotal(0, i) && is_pivotal(1, i) ? 1 : 0;
    }
    if (second > 0) out[index(persistence)] = static_cast<double>(both) / static_cast<double>(second);
    if (tokens > 0) out[index(chance)] = static_cast<double>(first) / static_cast<double>(tokens);
  };
  put([this](std::size_t half, std::size_t i) -> bool { return pivotal_[half][i]; }, pivotal_[0].size(),
      Figure::kPersistence, Figure::kPivotalShare);
  put([this](std::size_t half, std::size_t i) { return excess_[half][i] > 0; }, excess_[0].size(),
      Figure::kMeanPersistence, Figure::kMeanPivotalShare);
}

void RowSums::add_late(std::int64_t t, const attention::RowView& view) {
  const auto n = static_cast<std::size_t>(t) + 1;
  first_ += row_.front();
  even_ += static_cast<double>(kNear) / static_cast<double>(n);
  double near = 0;
  for (std::size_t i = n - static_cast<std::size_t>(kNear); i < n; ++i) near += row_[i];
  near_ += near;
  double all = 0;
  for (const double weight : row_) all += weight;
  add_shares(all);
  top_mass_.sums(view, t + 1, points_, held_);
  for (std::size_t p = 0; p < top_.size(); ++p) top_[p] += held_[p];
  for (std::size_t i = 1; i <= static_cast<std::size_t>(t - kNear); ++i) got_[i - 1] += row_[i];
}

void RowSums::add_shares(double all) {
  sorted_ = row_;
  std::make_heap(sorted_.begin(), sorted_.end());
  auto end = sorted_.end();
  double sum = 0;
  const auto taken_up_to = [&](double share) {
    while (sum < share * all && end != sorted_.begin()) {
      std::pop_heap(sorted_.begin(), end);
      sum += *--end;
    }
    return static_cast<double>(sorted_.end() - end) / static_cast<double>(sorted_.size());
  };
  half_ += taken_up_to(0.5);
  most_ += taken_up_to(0.9);
}

void RowSums::finish(const std::vector<std::int32_t>& heavy, Values& out) const {
  const auto set = [&out](Figure figure, double value) { out[index(figure)] = value; };
  const auto n = static_cast<double>(tokens_);
  const auto above = static_cast<double>(above_);
  set(Figure::kSparsityFull, 1 - above / (n * n));
  set(Figure::kSparsityCausal, 1 - above / (n * (n + 1) / 2));
  set(Figure::kEntropy, entropy_ / n);
  if (tokens_ > 1) set(Figure::kRelativeEntropy, relative_ / (n - 1));
  set(Figure::kEffectiveTokens, effective_ / n);
  if (tokens_ > kSinks) set(Figure::kSinkMass, sinks_ / (n - static_cast<double>(kSinks)));
  finish_pivotal(out);
  if (tokens_ <= kLateRow) return;
  const double late = n - static_cast<double>(kLateRow);
  set(Figure::kFirstMass, first_ / late);
  set(Figure::kNearMass, near_ / late);
  set(Figure::kNearEven, even_ / late);
  set(Figure::kHalfShare, half_ / late);
  set(Figure::kMostShare, most_ / late);
  double all = 0;
  for (const double got : got_) all += got;
  double most = 0;
  for (const std::int32_t place : heavy) most += got_[static_cast<std::size_t>(place)];
  if (all > 0) set(Figure::kHeavyShare, most / all);
}

std::vector<double> RowSums::top_mass() const {
  std::vector<double> out;
  if (tokens_ <= kLateRow) return out;
  for (std::size_t p = top_.size(); p-- > 0;)
    out.push_back(top_[p] / static_cast<double>(tokens_ - kLateRow));
  return out;
}

std::int64_t rows_of_far_token(std::int64_t tokens, std::int64_t token) {
  return tokens - std::max(kLateRow, token + kNear);
}

}  // namespace kvplan::survey
