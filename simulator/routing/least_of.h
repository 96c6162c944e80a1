// The index of the least of several numbers that change one at a time: a tournament tree; a change updates one path.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace kvplan::routing {

class LeastOf {
 public:
  /// All numbers are 0. REQUIRES: count >= 1.
  explicit LeastOf(std::int64_t count)
      : leaves_(std::bit_ceil(static_cast<std::size_t>(count))),
        values_(leaves_, INT64_MAX),
        winner_(2 * leaves_) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) values_[i] = 0;
    for (std::size_t i = 0; i < leaves_; ++i) winner_[leaves_ + i] = static_cast<std::int32_t>(i);
    for (std::size_t node = leaves_ - 1; node >= 1; --node) play(node);
  }

  [[nodiscard]] std::int64_t operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
  void set(std::int64_t i, std::int64_t value) {
    const auto place = static_cast<std::size_t>(i);
    if (values_[place] == value) return;
    values_[place] = value;
    for (std::size_t node = (leaves_ + place) / 2; node >= 1; node /= 2) play(node);
  }
  /// Index of the least number; the first of equal ones.
  [[nodiscard]] std::int64_t least() const { return winner_[1]; }

 private:
  void play(std::size_t node) {
    const std::int32_t left = winner_[2 * node], right = winner_[2 * node + 1];
    const bool right_wins =
        values_[static_cast<std::size_t>(right)] < values_[static_cast<std::size_t>(left)];
    winner_[node] = right_wins ? right : left;
  }

  std::size_t leaves_;
  std::vector<std::int64_t> values_;
  std::vector<std::int32_t> winner_;  // by node: winning index; the root at 1, leaves from leaves_ on
};

}  // namespace kvplan::routing
