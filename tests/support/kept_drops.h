// Drops that leave as many tokens as counts say, chosen at random. Plain lists, made from a seed.
#pragma once

#include <algorithm>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/core/course.h"

namespace kvplan::test {

class KeptDrops final : public core::Drops {
 public:
  /// A track for each unit.
  KeptDrops(Random& random, std::int64_t prompt, std::int64_t final_tokens,
            const std::vector<core::CountedUnits>& units)
      : prompt_(prompt) {
    for (const auto& [count, tracks] : units) {
      for (std::int64_t t = 0; t < tracks; ++t) {
        units_.push_back(1);
        auto& lists = lists_.emplace_back();
        std::vector<std::int32_t> kept;
        for (std::int64_t n = 1; n <= final_tokens; ++n) {
          kept.push_back(static_cast<std::int32_t>(n - 1));
          if (n < prompt) continue;
          auto& list = lists.emplace_back();
          while (static_cast<std::int64_t>(kept.size()) > count.of(n, prompt)) {
            const auto which = static_cast<std::ptrdiff_t>(random.below(kept.size()));
            list.push_back(kept[static_cast<std::size_t>(which)]);
            kept.erase(kept.begin() + which);
          }
          std::sort(list.begin(), list.end());
        }
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
