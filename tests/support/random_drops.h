// Drops of random policies: every track keeps at most its own budget after each token, chosen at random; the newest
// tokens are usually protected. One in four tracks belongs to another rank. Plain lists, made from a seed.
#pragma once

#include "simulator/base/random.h"
#include "tests/support/drop_lists.h"

namespace kvplan::test {

class RandomDrops final : public DropLists {
 public:
  /// `even`: all tracks have the same budget, as with kvplan's policies; otherwise each track has its own.
  RandomDrops(Random& random, std::int64_t prompt, std::int64_t final_tokens, bool even)
      : RandomDrops(random, random, prompt, final_tokens, even) {}
  /// `shape` determines the tracks and their units, `random` everything else.
  RandomDrops(Random& shape, Random& random, std::int64_t prompt, std::int64_t final_tokens, bool even)
      : RandomDrops(random_tracks(shape), random, prompt, final_tokens, even) {}
  /// `units`: of each track.
  RandomDrops(const std::vector<std::int32_t>& units, Random& random, std::int64_t prompt,
              std::int64_t final_tokens, bool even)
      : DropLists(prompt) {
    const std::int64_t common = random.between(1, std::max<std::int64_t>(final_tokens, 2));
    for (const std::int32_t each : units) {
      const std::int64_t budget = even ? common : random.between(0, final_tokens);
      const std::int64_t recent = random.between(0, std::min<std::int64_t>(budget, 5));
      add_track(
          each, final_tokens, [&](std::int64_t) { return budget; },
          [&](const auto& kept) {
            return random.below(static_cast<std::uint64_t>(
                std::max<std::int64_t>(static_cast<std::int64_t>(kept.size()) - recent, 1)));
          });
    }
  }

 private:
  static std::vector<std::int32_t> random_tracks(Random& shape) {
    std::vector<std::int32_t> units(static_cast<std::size_t>(shape.between(1, 4)));
    for (std::int32_t& each : units) each = static_cast<std::int32_t>(shape.between(0, 3));
    units[shape.below(units.size())] = 1;  // some cells belong to the rank
    return units;
  }
};

}  // namespace kvplan::test
