#include "simulator/kernels/grid_estimate.h"

#include <cmath>

namespace kvplan::kernels {
namespace {

constexpr double kPairDoubt = 0.015;
constexpr double kDoubtOfSpread = 0.3;
constexpr double kSideFactor = 2;
constexpr double kLoneDoubt = 0.15;

using Field = std::int64_t MeasuredCall::*;

double spread(double a, double b) {
  return 2 * std::fabs(b - a) / (a + b);
}

}  // namespace

double doubt_of_pair(double a, double b) {
  return kPairDoubt + kDoubtOfSpread * spread(a, b);
}

namespace {

/// Gathers evidence about one place.
class Evidence {
 public:
  Evidence(const MeasuredGrid& grid, const GridPlace& place, std::int64_t window)
      : grid_(grid), window_(window) {
    const GridAxes& axes = grid.axes();
    call_ = {axes.batches[place.batch], axes.lengths[place.length], axes.kv_heads[place.kv_heads],
             axes.groups[place.group], 0};
  }

  std::optional<SourcedTime> all() {
    const bool pair_of_heads = traded_pair(&MeasuredCall::kv_heads);
    traded_pair(&MeasuredCall::length);
    const bool pair_of_groups = line_pair(&MeasuredCall::group);
    traded_pair(&MeasuredCall::group);
    line_pair(&MeasuredCall::length);
    line_pair(&MeasuredCall::batch);
    const bool any_pair = weight_ > 0;
    if (!pair_of_heads) sides(&MeasuredCall::kv_heads, true);
    if (!pair_of_groups) sides(&MeasuredCall::group, false);
    if (!any_pair) {
      sides(&MeasuredCall::length, true);
      goes_on(&MeasuredCall::length);
      goes_on(&MeasuredCall::batch);
    }
    if (weight_ == 0) return std::nullopt;
    return SourcedTime{weighted_ / weight_, any_pair ? TimeSource::kInterpolated : TimeSource::kExtrapolated};
  }

 private:
  void add(double us, double doubt) {
    const double weight = 1 / (doubt * doubt);
    weighted_ += us * weight;
    weight_ += weight;
  }

  [[nodiscard]] const Axis& axis(Field field) const {
    const GridAxes& axes = grid_.axes();
    if (field == &MeasuredCall::batch) return axes.batches;
    if (field == &MeasuredCall::length) return axes.lengths;
    return field == &MeasuredCall::kv_heads ? axes.kv_heads : axes.groups;
  }

  /// 0 if the call is not on the grid, or was not measured.
  [[nodiscard]] double time(const MeasuredCall& call) const {
    const GridAxes& axes = grid_.axes();
    const auto batch = place_on(axes.batches, call.batch);
    const auto length = place_on(axes.lengths, call.length);
    const auto kv_heads = place_on(axes.kv_heads, call.kv_heads);
    const auto group = place_on(axes.groups, call.group);
    return batch && length && kv_heads && group ? grid_.at({*batch, *length, *kv_heads, *group}) : 0;
  }

  /// The time of the call with another value on one axis; `traded`: and with the batch that keeps their product.
  [[nodiscard]] double with(Field field, std::int64_t value, bool traded) const {
    if (field == &MeasuredCall::group && (value == 1) != (call_.group == 1)) return 0;
    if (field == &MeasuredCall::length && traded && window_ > 0 && std::max(value, call_.length) > window_)
      return 0;
    MeasuredCall other = call_;
    other.*field = value;
    if (traded) {
      const std::int64_t product = call_.batch * call_.*field;
      if (product % value != 0) return 0;
      other.batch = product / value;
    }
    return time(other);
  }

  /// Adds the nearest pair of places that lie symmetrically on both sides.
  bool traded_pair(Field field) {
    const std::int64_t middle = call_.*field;
    const Axis& values = axis(field);
    for (auto low = values.rbegin(); low != values.rend(); ++low) {
      if (*low >= middle || middle * middle % *low != 0) continue;
      const double a = with(field, *low, true);
      const double b = with(field, middle * middle / *low, true);
      if (a == 0 || b == 0) continue;
      add(std::sqrt(a * b), doubt_of_pair(a, b));
      return true;
    }
    return false;
  }

  struct Neighbour {
    std::int64_t value{0};
    double us{0};  ///< 0: there is no neighbour
  };
  /// The nearest measured neighbour beyond `from`; `from` itself may be on the axis or not.
  [[nodiscard]] Neighbour next(Field field, std::int64_t from, bool upwards, bool traded) const {
    const Axis& values = axis(field);
    if (upwards) {
      for (const std::int64_t value : values)
        if (value > from)
          if (const double us = with(field, value, traded); us > 0) return {value, us};
    } else {
      for (auto value = values.rbegin(); value != values.rend(); ++value)
        if (*value < from)
          if (const double us = with(field, *value, traded); us > 0) return {*value, us};
    }
    return {};
  }

  bool line_pair(Field field) {
    const std::int64_t middle = call_.*field;
    const Neighbour low = next(field, middle, false, false);
    const Neighbour high = next(field, middle, true, false);
    if (low.us == 0 || high.us == 0) return false;
    const double share =
        static_cast<double>(middle - low.value) / static_cast<double>(high.value - low.value);
    add(low.us + (high.us - low.us) * share, doubt_of_pair(low.us, high.us));
    return true;
  }

  void sides(Field field, bool traded) {
    for (const bool upwards : {false, true}) {
      const Neighbour near = next(field, call_.*field, upwards, traded);
      if (near.us == 0) continue;
      const Neighbour behind = next(field, near.value, upwards, traded);
      add(near.us, behind.us == 0 ? kLoneDoubt : kSideFactor * doubt_of_pair(near.us, behind.us));
    }
  }

  void goes_on(Field field) {
    const std::int64_t here = call_.*field;
    const Neighbour near = next(field, here, false, false);
    if (near.us == 0) return;
    const Neighbour behind = next(field, near.value, false, false);
    if (behind.us == 0) return;
    const bool level =
        behind.us >= near.us || (field == &MeasuredCall::length && window_ > 0 && near.value >= window_);
    const double rise = level ? 0 : (near.us - behind.us) / static_cast<double>(near.value - behind.value);
    const double us = near.us + rise * static_cast<double>(here - near.value);
    add(us, kSideFactor * doubt_of_pair(us, near.us));
  }

  const MeasuredGrid& grid_;
  std::int64_t window_;
  MeasuredCall call_;
  double weighted_{0}, weight_{0};
};

}  // namespace

std::optional<SourcedTime> estimate(const MeasuredGrid& grid, const GridPlace& place, std::int64_t window) {
  return Evidence(grid, place, window).all();
}

}  // namespace kvplan::kernels
