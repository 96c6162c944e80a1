// The tokens that one KV head keeps, packed: ascending positions, and for each the policy's numbers (accumulated score,
// last score, ...). Arrays are packed because memory limits the speed of a replay: one step reads them once and gathers
// from the attention row. The gap of a dropped entry is closed from the nearer end: with a budget, most dropped entries
// are in the older half, so few numbers move.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/attention/sliding_column.h"
#include "simulator/base/check.h"

namespace kvplan::attention {

/// Owned by the replay, which appends tokens and applies drops; the policy writes only the columns.
class Residents {
 public:
  explicit Residents(int columns) : columns_(static_cast<std::size_t>(columns)) {}

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(positions_.size()); }
  /// Absolute 0-based positions, ascending.
  [[nodiscard]] std::span<const std::int32_t> positions() const { return positions_.all(); }
  /// The policy's number `c` of each resident; 0 when a token is appended.
  [[nodiscard]] std::span<double> column(int c) { return columns_[static_cast<std::size_t>(c)].all(); }
  [[nodiscard]] std::span<const double> column(int c) const {
    return columns_[static_cast<std::size_t>(c)].all();
  }

  /// REQUIRES: `position` is greater than every resident's.
  void append(std::int32_t position) {
    positions_.push_back(position);
    for (auto& column : columns_) column.push_back(0.0);
  }

  /// Removes residents by index; the others keep their order and numbers.
  /// REQUIRES: `indices` ascending, distinct, each in [0, size).
  void drop(std::span<const std::int32_t> indices) {
    if (indices.empty()) return;
    KVPLAN_CHECK(indices.front() >= 0 && indices.back() < size(), indices.front(), indices.back(), size());
    positions_.drop(indices);
    for (auto& column : columns_) column.drop(indices);
  }

 private:
  SlidingColumn<std::int32_t> positions_;
  std::vector<SlidingColumn<double>> columns_;
};

}  // namespace kvplan::attention
