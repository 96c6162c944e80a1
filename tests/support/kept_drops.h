// Drops that leave given numbers of tokens, chosen at random. Plain lists, made from a seed.
#pragma once

#include "simulator/base/random.h"
#include "tests/support/drop_lists.h"

namespace kvplan::test {

class KeptDrops final : public DropLists {
 public:
  /// One track for each unit.
  KeptDrops(Random& random, std::int64_t prompt, std::int64_t final_tokens,
            const std::vector<core::CountedUnits>& units)
      : DropLists(prompt) {
    for (const auto& [count, tracks] : units)
      for (std::int64_t t = 0; t < tracks; ++t)
        add_track(
            1, final_tokens, [&count = count, prompt](std::int64_t n) { return count.of(n, prompt); },
            [&](const auto& kept) { return random.below(kept.size()); });
  }
};

}  // namespace kvplan::test
