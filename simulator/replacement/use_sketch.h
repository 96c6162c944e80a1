// Counts approximately how often ids were used lately, in a few bits for each block of the cache: a count-min sketch
// with four rows of counters up to 15, which are all halved from time to time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "simulator/replacement/use.h"

namespace kvplan::replacement {

/// Row r counts an id in place `mix(id + (r + 1) x 0x9E3779B97F4A7C15) mod width`, where mix is the last step of
/// SplitMix64 (base/random.h). The width is the least power of two that is at least 16 and not below the capacity
/// or the number of ids, whichever is less.
class UseSketch {
 public:
  explicit UseSketch(const Room& room) : sample_(10 * room.capacity) {
    const std::int64_t wanted = std::min(room.capacity, std::int64_t{room.ids});
    std::uint64_t width = 16;
    while (width < static_cast<std::uint64_t>(wanted)) width *= 2;
    mask_ = width - 1;
    for (auto& row : rows_) row.assign(width, 0);
  }

  /// Increments the counters that are below their maximum. Every 10 x capacity uses all counters are halved,
  /// rounding down.
  void add(Id id) {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      std::uint8_t& counter = rows_[r][place(r, id)];
      if (counter < 15) ++counter;
    }
    if (++added_ < sample_) return;
    for (auto& row : rows_)
      for (std::uint8_t& counter : row) counter /= 2;
    added_ = 0;
  }

  /// The least of its counters: at least the number of uses since the last halving, up to 15.
  [[nodiscard]] std::uint32_t estimate(Id id) const {
    std::uint8_t least = 15;
    for (std::size_t r = 0; r < rows_.size(); ++r) least = std::min(least, rows_[r][place(r, id)]);
    return least;
  }

 private:
  [[nodiscard]] std::uint64_t place(std::size_t row, Id id) const {
    std::uint64_t z = id + (row + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (z ^ (z >> 31)) & mask_;
  }

  std::array<std::vector<std::uint8_t>, 4> rows_;
  std::uint64_t mask_{0};
  std::int64_t sample_, added_{0};
};

}  // namespace kvplan::replacement
