#include "simulator/kernels/grid_reader.h"

#include <algorithm>

#include "simulator/kernels/grid_estimate.h"

namespace kvplan::kernels {
namespace {

using Time = std::optional<SourcedTime>;

/// Interpolates on the straight line through (low, a) and (high, b), with `here` between them.
Time between(double here, double low, const Time& a, double high, const Time& b) {
  if (!a || !b) return std::nullopt;
  const double share = (here - low) / (high - low);
  return SourcedTime{a->us + (b->us - a->us) * share,
                     std::max({a->source, b->source, TimeSource::kInterpolated})};
}

Time extrapolated(const Time& time) {
  if (!time) return time;
  return time->but_no_surer_than(TimeSource::kExtrapolated);
}

/// Extrapolates beyond `last` on the line through (before, a) and (last, b); a falling line is replaced by a level one.
Time behind(double here, double before, const Time& a, double last, const Time& b) {
  if (!a || !b) return extrapolated(b);
  const double rise = std::max(0.0, (b->us - a->us) / (last - before));
  return SourcedTime{b->us + rise * (here - last), TimeSource::kExtrapolated};
}

struct Pair {
  Time low, high;
};

/// The mean of two pairs of neighbours, both interpolated at `share` of the way from low to high, weighted like
/// evidence in grid_estimate.h; if there is only one, its value.
Time surer_mean(const Pair& first, const Pair& second, double share) {
  const Time a = between(share, 0, first.low, 1, first.high);
  const Time b = between(share, 0, second.low, 1, second.high);
  if (!a || !b) return a ? a : b;
  const double a_doubt = doubt_of_pair(first.low->us, first.high->us);
  const double b_doubt = doubt_of_pair(second.low->us, second.high->us);
  const double a_weight = 1 / (a_doubt * a_doubt), b_weight = 1 / (b_doubt * b_doubt);
  return SourcedTime{(a->us * a_weight + b->us * b_weight) / (a_weight + b_weight),
                     std::max(a->source, b->source)};
}

double value(const Axis& axis, std::size_t place) {
  return static_cast<double>(axis[place]);
}

/// Interpolates at `here` among the times at axis[first..]; `read(place)` returns a time. Beyond the last place: if
/// `goes_on`, on the line through it and the nearest place of at most half its value; else the last time.
template <class Read>
Time along(const Axis& axis, std::size_t first, double here, bool goes_on, Read read) {
  std::size_t above = first;
  while (above < axis.size() && value(axis, above) < here) ++above;
  if (above < axis.size() && value(axis, above) == here) return read(above);
  if (above == first) return extrapolated(read(first));
  if (above < axis.size())
    return between(here, value(axis, above - 1), read(above - 1), value(axis, above), read(above));
  const std::size_t last = above - 1;
  std::size_t before = last;
  while (before > first && 2 * axis[before] > axis[last]) --before;
  if (!goes_on || before == last) return extrapolated(read(last));
  return behind(here, value(axis, before), read(before), value(axis, last), read(last));
}

}  // namespace

Time GridReader::at_tokens(std::size_t batch, double length, std::size_t kv_heads, std::size_t group) const {
  const Axis& lengths = grid_.axes().lengths;
  const auto window = static_cast<double>(grid_.window());
  if (length < value(lengths, 0) || length > value(lengths, lengths.size() - 1) ||
      (window > 0 && length > window))
    return std::nullopt;
  return along(lengths, 0, length, false, [&](std::size_t l) {
    return grid_.at({batch, l, kv_heads, group});
  });
}

Time GridReader::at_heads(double batch, std::size_t length, std::size_t kv_heads, std::size_t group) const {
  const Axis& axis = grid_.axes().batches;
  const auto same_length = [&](std::size_t b) { return grid_.at({b, length, kv_heads, group}); };
  std::size_t above = 0;
  while (above < axis.size() && value(axis, above) < batch) ++above;
  if (above == axis.size() || value(axis, above) == batch) return along(axis, 0, batch, true, same_length);
  const auto same_tokens = [&](std::size_t b) {
    return at_tokens(b, value(grid_.axes().lengths, length) * batch / value(axis, b), kv_heads, group);
  };
  if (above == 0) {
    const Time shorter = same_tokens(0);
    return extrapolated(shorter ? shorter : same_length(0));
  }
  const double low = value(axis, above - 1), high = value(axis, above);
  return surer_mean(Pair{same_length(above - 1), same_length(above)},
                    Pair{same_tokens(above - 1), same_tokens(above)}, (batch - low) / (high - low));
}

Time GridReader::at_group(double batch, std::size_t length, std::int64_t kv_heads, std::size_t group) const {
  const Axis& axis = grid_.axes().kv_heads;
  const auto heads = static_cast<double>(kv_heads);
  const auto equal_work = [&](std::size_t h) {
    return at_heads(batch * heads / value(axis, h), length, h, group);
  };
  if (const Time time = along(axis, 0, heads, false, equal_work)) return time;
  // The nearest number of heads that has a time.
  for (std::size_t h = axis.size(); h-- > 0;)
    if (axis[h] < kv_heads)
      if (const Time time = equal_work(h)) return extrapolated(time);
  for (std::size_t h = 0; h < axis.size(); ++h)
    if (axis[h] > kv_heads)
      if (const Time time = equal_work(h)) return extrapolated(time);
  return std::nullopt;
}

Time GridReader::at(double batch, std::size_t length, const GridHeads& heads) const {
  const Axis& axis = grid_.axes().groups;
  const auto read = [&](std::size_t g) { return at_group(batch, length, heads.kv_heads, g); };
  const bool has_lone = axis.front() == 1;
  if (heads.group == 1 || (has_lone && axis.size() == 1))
    return heads.group == axis.front() ? read(0) : extrapolated(read(0));
  return along(axis, has_lone ? 1 : 0, static_cast<double>(heads.group), true, read);
}

std::optional<TimeCurve> GridReader::curve(double batch, const GridHeads& heads) const {
  const Axis& lengths = grid_.axes().lengths;
  TimeCurve curve;
  for (std::size_t l = 0; l < lengths.size(); ++l) {
    const Time time = at(batch, l, heads);
    if (!time) break;
    curve.knots.push_back({value(lengths, l), time->us, time->source});
  }
  if (curve.knots.empty()) return std::nullopt;
  add_beyond(batch, heads, curve);
  add_below(batch, heads, curve);
  return curve;
}

void GridReader::add_beyond(double batch, const GridHeads& heads, TimeCurve& curve) const {
  const GridAxes& axes = grid_.axes();
  const std::size_t last = axes.lengths.size() - 1;
  if (grid_.window() > 0 && curve.knots.back().at >= static_cast<double>(grid_.window())) return;
  if (curve.knots.size() == axes.lengths.size()) {
    double factor = 2;
    while (batch * factor <= value(axes.batches, axes.batches.size() - 1)) {
      const Time time = at(batch * factor, last, heads);
      if (!time) break;
      curve.knots.push_back({value(axes.lengths, last) * factor, std::max(time->us, curve.knots.back().us),
                             TimeSource::kExtrapolated});
      factor *= 2;
    }
  }
  if (curve.knots.size() < 2) return;
  const Knot& a = curve.knots[curve.knots.size() - 2];
  const Knot& b = curve.knots.back();
  curve.rise = std::max(0.0, (b.us - a.us) / (b.at - a.at));
}

void GridReader::add_below(double batch, const GridHeads& heads, TimeCurve& curve) const {
  const GridAxes& axes = grid_.axes();
  const double first = value(axes.lengths, 0);
  const double whole = curve.knots.front().us;
  std::vector<Knot> below{{0, whole, TimeSource::kExtrapolated}};
  const Time least = at(value(axes.batches, 0), 0, heads);
  if (grid_.window() == 0 && axes.lengths.size() > 1 && least) {
    // How much the time rises for each cached token of each sequence.
    const auto rise = [&](double b) {
      const Time from = at(b, 0, heads);
      const Time to = at(b, 1, heads);
      return from && to ? std::max(0.0, (to->us - from->us) / (value(axes.lengths, 1) - first)) : 0.0;
    };
    const double slope = std::min({rise(batch), 2 * rise(batch / 2),
                                   grid_.us_per_token() * batch * static_cast<double>(heads.kv_heads)});
    const double tiles = std::max(0.0, whole - slope * first - least->us);
    below.front().us = least->us + tiles;
    for (std::size_t b = 0; b < axes.batches.size() && value(axes.batches, b) < batch; ++b) {
      const Time same_tokens = at(value(axes.batches, b), 0, heads);
      if (!same_tokens) continue;
      const double share = value(axes.batches, b) / batch;
      below.push_back({first * share, same_tokens->us + (1 - share) * tiles, TimeSource::kExtrapolated});
    }
    double most = whole;
    for (auto knot = below.rbegin(); knot != below.rend(); ++knot) {
      knot->us = std::min(knot->us, most);
      most = knot->us;
    }
  }
  curve.knots.insert(curve.knots.begin(), below.begin(), below.end());
}

}  // namespace kvplan::kernels
