// Drops of random policies: every track keeps at most a budget of its own after each token, chosen at random,
// the newest tokens usually protected. Plain lists, made from a seed.
#pragma once

#include <algorithm>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/core/course.h"

namespace kvplan::test {

class RandomDrops final : public core::Drops {
 public:
  /// `even`: all tracks have one budget, as the policies of today; else each its own.
  RandomDrops(Random& random, std::int64_t prompt, std::int64_t final_tokens, bool even)
      : RandomDrops(random, random, prompt, final_tokens, even) {}
  /// `shape` decides the tracks and their units, `random` the rest.
  RandomDrops(Random& shape, Random& random, std::int64_t prompt, std::int64_t final_tokens, bool even)
      : prompt_(prompt) {
    const auto tracks = shape.between(1, 4);
    for (std::int64_t t = 0; t < tracks; ++t)
      units_.push_back(static_cast<std::int32_t>(shape.between(1, 3)));
    const std::int64_t common = random.between(1, std::max<std::int64_t>(final_tokens, 2));
    for (std::int64_t t = 0; t < tracks; ++t) {
      const std::int64_t budget = even ? common : random.between(0, final_tokens);
      const std::int64_t recent = random.between(0, std::min<std::int64_t>(budget, 5));
      auto& lists = lists_.emplace_back();
      std::vector<std::int32_t> kept;
      for (std::int64_t n = 1; n <= final_tokens; ++n) {
        kept.push_back(static_cast<std::int32_t>(n - 1));
        if (n < prompt) continue;
        auto& list = lists.emplace_back();
        while (static_cast<std::int64_t>(kept.size()) > budget) {
          const auto choices = static_cast<std::uint64_t>(
              std::max<std::int64_t>(static_cast<std::int64_t>(kept.size()) - recent, 1));
          const auto which = static_cast<std::ptrdiff_t>(random.below(choices));
          list.push_back(kept[static_cast<std::size_t>(which)]);
          kept.erase(kept.begin() + which);
        }
        std::sort(list.begin(), list.end());
      }
    }
  }
  [[nodiscard]] std::span<const std::int32_t> track_units() const override { return units_; }
  void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const override {
    const auto& list = lists_[static_cast<std::size_t>(track)][static_cast<std::size_t>(n - prompt_)];
    positions.insert(positions.end(), list.begin(), list.end());
  }

 private:
  std::int64_t prompt_;
  std::vector<std::int32_t> units_;
  std::vector<std::vector<std::vector<std::int32_t>>> lists_;  ///< [track][n - prompt]
};

}  // namespace kvplan::test
