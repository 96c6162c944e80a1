// Times of one kernel, measured over four axes: sequences in the batch, cached tokens of each sequence, KV heads, and
// query heads per KV head (the group). Some places of the grid may lack a measurement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::kernels {

/// The values of one axis, ascending and distinct.
using Axis = std::vector<std::int64_t>;

/// Index of a value on an axis, if the axis has it.
std::optional<std::size_t> place_on(const Axis& axis, std::int64_t value);

struct GridAxes {
  Axis batches, lengths, kv_heads, groups;
};

/// Indices on the axes.
struct GridPlace {
  std::size_t batch{0}, length{0}, kv_heads{0}, group{0};
};

struct MeasuredCall {
  std::int64_t batch{1}, length{1}, kv_heads{1}, group{1};
  double us{0};
};

class MeasuredGrid {
 public:
  /// Errors: no calls, the same call twice, values below 1, a time that is not above 0.
  static Result<MeasuredGrid> make(const std::vector<MeasuredCall>& calls);

  [[nodiscard]] const GridAxes& axes() const { return axes_; }
  [[nodiscard]] std::size_t measured() const { return measured_; }
  /// Microseconds; 0 if not measured.
  [[nodiscard]] double at(const GridPlace& place) const { return us_[index(place)]; }
  /// Removes a time; the axes do not change. For tests of estimates without this point.
  void forget(const GridPlace& place);

  [[nodiscard]] std::size_t places() const { return us_.size(); }
  [[nodiscard]] std::size_t index(const GridPlace& place) const {
    return ((place.kv_heads * axes_.groups.size() + place.group) * axes_.batches.size() + place.batch) *
               axes_.lengths.size() +
           place.length;
  }
  [[nodiscard]] GridPlace place(std::size_t index) const;

 private:
  GridAxes axes_;
  std::vector<double> us_;
  std::size_t measured_{0};
};

}  // namespace kvplan::kernels
