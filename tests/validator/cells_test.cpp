// The rule that determines the state of a cell, compared with the same rule written cell by cell and holder by holder.
#include "validator/replay/cells.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/support/random_cases.h"

namespace kvplan::validator {

void PrintTo(const CellCounts& c, std::ostream* out) {
  *out << "live " << c.live << " reserved " << c.reserved << " hole " << c.hole << " tail " << c.tail
       << " cached " << c.cached << " free " << c.free << " wrong " << c.wrong;
}

namespace {

/// Counts the cell at `offset` in its state, by the words of the ten states' definition.
void count_one(const View& view, const std::vector<Holding>& holdings, std::int64_t offset, Stamp found,
               CellCounts& counts) {
  const bool written = found == stamp_of(view.content, offset);
  if (!written && found != kPoison) {
    ++counts.wrong;
    return;
  }
  if (view.use == Use::kFree) {
    ++(written ? counts.wrong : counts.free);
    return;
  }
  if (view.use == Use::kCached) {
    ++(written ? counts.cached : counts.tail);
    return;
  }
  bool kept = false, awaited = false;
  for (std::int32_t h = 0; h < view.holdings; ++h) {
    const Holding& holding = holdings[static_cast<std::size_t>(view.first_holding + h)];
    const std::int64_t token = holding.base + offset;
    const bool dropped = token >= holding.sink && token < holding.begin;
    kept |= !dropped;
    awaited |= token < holding.final_tokens;
  }
  if (written)
    ++(kept ? counts.live : counts.hole);
  else
    ++(awaited ? counts.reserved : counts.tail);
}

TEST(Cells, AreCountedAsOneByOne) {
  std::mt19937_64 random(20261126);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  CellCounts all;
  for (std::int64_t c = test::random_cases(20000, 2000); c > 0; --c) {
    std::vector<Holding> holdings(static_cast<std::size_t>(below(4)));
    for (Holding& h : holdings) {
      const std::int64_t sink = below(12);
      h = {below(40), sink, below(3) == 0 ? 0 : sink + below(40), below(70)};
    }
    View view{0,
              1 + below(40),
              random(),
              below(20),
              0,
              static_cast<std::int32_t>(holdings.size()),
              static_cast<Use>(below(3)),
              1};
    if (view.holdings > 0 && below(2) == 0) {
      ++view.first_holding;
      --view.holdings;
    }
    std::vector<Stamp> cells;
    CellCounts expected;
    const std::int64_t written = below(view.cells + 1);
    for (std::int64_t i = 0; i < view.cells; ++i) {
      Stamp stamp =
          i < written && view.use != Use::kFree ? stamp_of(view.content, view.first_offset + i) : kPoison;
      if (below(50) == 0) stamp ^= 1;
      if (below(50) == 0) stamp = stamp_of(view.content, view.first_offset + i);
      cells.push_back(stamp);
      count_one(view, holdings, view.first_offset + i, stamp, expected);
    }
    ASSERT_EQ(count_view(view, holdings.data(), cells.data(), nullptr, 0, 1), expected) << "case " << c;
    // The cells are divided among the lanes of a device.
    CellCounts dealt;
    for (std::int64_t lane = 0; lane < 7; ++lane)
      dealt += count_view(view, holdings.data(), cells.data(), nullptr, lane, 7);
    ASSERT_EQ(dealt, expected) << "case " << c;
    all += expected;
  }
  for (const std::int64_t state :
       {all.live, all.reserved, all.hole, all.tail, all.cached, all.free, all.wrong})
    EXPECT_GT(state, 1000);
}

}  // namespace
}  // namespace kvplan::validator
