// Courses of several tables compared with the same tables, each of which has a course of its own.
#include "simulator/courses/course_of_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "simulator/courses/counted_course.h"
#include "tests/support/observed_run.h"
#include "tests/support/random_drops.h"

namespace kvplan {
namespace {

using core::AlikeTables;
using core::Course;
using core::CourseShape;
using core::HeldCells;
using core::Placement;

/// Tables one by one, to be joined into a course of tables.
using Singles = std::vector<std::unique_ptr<const Course>>;

/// Makes equal tables, one by one and joined.
template <class Make>
void add_alike(std::int64_t count, Make make, Singles& singles, std::vector<AlikeTables>& parts) {
  for (std::int64_t i = 0; i < count; ++i) singles.push_back(make());
  parts.push_back({make(), count});
}

/// The entries of each table that are held, and its length.
struct Entries {
  std::set<std::int64_t> held;
  std::int64_t length{0};
  void reach(std::int64_t blocks) {
    for (; length < blocks; ++length) held.insert(length);
  }
  void cut(std::int64_t blocks) {
    held.erase(held.lower_bound(blocks), held.end());
    length = std::min(length, blocks);
  }
};

void compare(const CourseShape& shape, const Singles& singles, const Course& whole, std::int64_t& returned) {
  const auto tables = static_cast<std::int64_t>(singles.size());
  const std::int64_t q = shape.alloc_unit_tokens;
  std::vector<Entries> entries(singles.size());
  HeldCells granted;
  for (std::size_t t = 0; t < singles.size(); ++t) {
    entries[t].reach(ceil_div(shape.prompt, q));
    granted += singles[t]->granted(0, entries[t].length);
  }
  ASSERT_EQ(whole.granted(0, tables * ceil_div(shape.prompt, q)), granted);
  for (std::int64_t n = 1; n <= shape.prompt; ++n)
    ASSERT_EQ(whole.table_slots(n), tables * ceil_div(n, q) * q);
  for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
    HeldCells settled;
    HeldCells during;
    HeldCells before;
    std::set<std::int64_t> gone;
    std::int64_t length = 0;
    std::int64_t length_before = 0;
    std::int64_t moved_cells = 0;
    for (std::size_t t = 0; t < singles.size(); ++t) {
      const Course& single = *singles[t];
      Entries& table = entries[t];
      length_before += table.length;
      settled += single.settled(n);
      before += single.settled(n) + single.returned_cells(n);
      during += single.settled(n) + single.grant(n);
      for (const std::int32_t block : single.freed_entries(n)) {
        ASSERT_EQ(table.held.erase(block), 1U);
        gone.insert(block * tables + static_cast<std::int64_t>(t));
      }
      if (const auto moved = single.compaction(n)) {
        table.cut(moved->alloc_units);
        moved_cells += moved->kept_cells;
      }
      length += table.length;
    }
    ASSERT_EQ(whole.settled(n), settled) << n;
    ASSERT_EQ(whole.read_tokens(n),
              ceil_div(shape.reads_holes ? settled.live + settled.hole : settled.live, whole.units()));
    ASSERT_EQ(whole.settled(n) + whole.returned_cells(n), before) << n;
    ASSERT_EQ(whole.settled(n) + whole.grant(n), during) << n;
    const auto told = whole.freed_entries(n);
    ASSERT_EQ(std::set<std::int64_t>(told.begin(), told.end()), gone) << n;
    ASSERT_EQ(told.size(), gone.size());
    const auto moved = whole.compaction(n);
    ASSERT_EQ(moved.has_value(), length != length_before) << n;
    if (moved) {
      EXPECT_EQ(moved->alloc_units_before, length_before);
      EXPECT_EQ(moved->alloc_units, length);
      EXPECT_EQ(moved->kept_cells, moved_cells);
    }
    returned += static_cast<std::int64_t>(told.size()) + length_before - length;
    std::int64_t next = 0;
    std::int64_t cells = 0;
    for (std::size_t t = 0; t < singles.size(); ++t) {
      entries[t].reach(ceil_div(singles[t]->table_slots(n + 1), q));
      next += entries[t].length;
      cells += static_cast<std::int64_t>(entries[t].held.size()) * q * singles[t]->units();
    }
    ASSERT_EQ(whole.table_slots(n + 1), next * q) << n;
    ASSERT_EQ(during.sum(), cells) << n;  // every cell of every held block is in a state
  }
  for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
    const std::int64_t steps = whole.alike_steps(n);
    ASSERT_LE(n + steps, shape.final_tokens);
    const auto during = [&](std::int64_t m) { return whole.settled(m) + whole.grant(m); };
    for (std::int64_t k = 1; k < steps; ++k) {
      ASSERT_FALSE(whole.returns_blocks(n + k)) << n;
      ASSERT_EQ(whole.grant(n + k).sum(), 0) << n;
      ASSERT_EQ(during(n + k) - during(n + k - 1), during(n + 1) - during(n)) << n;
      const auto more = [&](std::int64_t m) { return whole.read_tokens(m) - whole.read_tokens(m - 1); };
      ASSERT_EQ(more(n + k), more(n + 1)) << n;
      ASSERT_TRUE(more(n + k) == 0 || more(n + k) == 1) << n;
    }
  }
}

TEST(CourseOfTables, IsTheSumOfItsTables) {
  std::int64_t returned = 0;
  std::int64_t alike = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "courses of tables");
    CourseShape shape;
    shape.prompt = random.between(1, 40);
    shape.final_tokens = shape.prompt + random.between(0, 50);
    shape.alloc_unit_tokens = random.between(1, 9);
    shape.reads_holes = seed % 2 == 0;
    shape.placement = random.chance(1, 2) ? Placement::kHoles : Placement::kReuse;
    Singles singles;
    std::vector<AlikeTables> parts;
    for (std::int64_t part = random.between(1, 4); part > 0; --part) {
      const auto drops =
          std::make_shared<test::RandomDrops>(random, shape.prompt, shape.final_tokens, random.chance(1, 2));
      const auto count = random.between(1, 3);
      add_alike(
          count, [&] { return Course::make(shape, drops); }, singles, parts);
    }
    const auto whole = core::make_course_of_tables(std::move(parts));
    compare(shape, singles, *whole, returned);
    if (HasFatalFailure()) return;
    for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n)
      alike += whole->alike_steps(n) > 1 ? 1 : 0;
  }
  EXPECT_GT(returned, 1000);
  EXPECT_GT(alike, 500);
}

TEST(CourseOfTables, CountsEachLayer) {
  std::int64_t returned = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "counted tables");
    CourseShape shape;
    shape.prompt = random.between(1, 60);
    shape.final_tokens = shape.prompt + random.between(0, 60);
    shape.alloc_unit_tokens = random.between(1, 9);
    shape.reads_holes = seed % 2 == 0;
    shape.placement = Placement::kCompact;
    Singles singles;
    std::vector<AlikeTables> parts;
    for (std::int64_t part = random.between(1, 4); part > 0; --part) {
      const std::vector<core::CountedUnits> units{{{random.between(1, 70), random.chance(1, 2)}, 1}};
      const auto count = random.between(1, 3);
      add_alike(
          count, [&] { return core::make_counted_course(shape, units); }, singles, parts);
    }
    compare(shape, singles, *core::make_course_of_tables(std::move(parts)), returned);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(returned, 1000);
}

/// Some tables free blocks, in others the survivors move.
TEST(CourseOfTables, MixesPlacements) {
  std::int64_t returned = 0;
  std::int64_t both = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "tables of two placements");
    CourseShape shape;
    shape.prompt = random.between(1, 60);
    shape.final_tokens = shape.prompt + random.between(0, 60);
    shape.alloc_unit_tokens = random.between(1, 9);
    shape.reads_holes = seed % 2 == 0;
    Singles singles;
    std::vector<AlikeTables> parts;
    for (std::int64_t part = random.between(2, 5); part > 0; --part) {
      const auto count = random.between(1, 3);
      if (random.chance(1, 2)) {
        shape.placement = Placement::kHoles;
        const auto drops =
            std::make_shared<test::RandomDrops>(random, shape.prompt, shape.final_tokens, true);
        add_alike(
            count, [&] { return Course::make(shape, drops); }, singles, parts);
      } else {
        shape.placement = Placement::kCompact;
        const std::vector<core::CountedUnits> units{{{random.between(1, 70), random.chance(1, 2)}, 1}};
        add_alike(
            count, [&] { return core::make_counted_course(shape, units); }, singles, parts);
      }
    }
    const auto whole = core::make_course_of_tables(std::move(parts));
    compare(shape, singles, *whole, returned);
    if (HasFatalFailure()) return;
    for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n)
      both += !whole->freed_entries(n).empty() && whole->compaction(n) ? 1 : 0;
  }
  EXPECT_GT(returned, 1000);
  EXPECT_GT(both, 50);
}

/// One table for layers with different counts: all write to the cell after the longest layer, so survivors move as
/// those of the longest layer alone; the cells that the others do not keep are holes.
TEST(CountedCourse, OfLayersMovesAsTheLongest) {
  std::int64_t moved = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "layers in one table");
    CourseShape shape;
    shape.prompt = random.between(1, 60);
    shape.final_tokens = shape.prompt + random.between(1, 40);
    shape.alloc_unit_tokens = random.between(1, 9);
    shape.reads_holes = seed % 2 == 0;
    shape.placement = Placement::kCompact;
    std::vector<core::CountedUnits> units;
    std::int64_t most = 0;
    std::int64_t all = 0;
    for (std::int64_t part = random.between(1, 4); part > 0; --part) {
      units.push_back({{random.between(1, 70), true}, random.between(1, 3)});
      most = std::max(most, units.back().kept.budget);
      all += units.back().units;
    }
    const auto course = core::make_counted_course(shape, units);
    const auto longest = core::make_counted_course(shape, {{{most, true}, 1}});
    ASSERT_EQ(course->units(), all);
    for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
      std::int64_t live = 0;
      for (const auto& [kept, count] : units)
        live += count * (std::min(kept.budget, shape.prompt) + n - shape.prompt);
      const HeldCells held = course->settled(n);
      const HeldCells one = longest->settled(n);
      ASSERT_EQ(held.live, live) << n;
      ASSERT_EQ(held.hole, all * (one.live + one.hole) - live) << n;
      ASSERT_EQ(held.reserved, all * one.reserved) << n;
      ASSERT_EQ(held.tail, all * one.tail) << n;
      ASSERT_EQ(course->table_slots(n), longest->table_slots(n)) << n;
      ASSERT_EQ(course->grant(n).sum(), all * longest->grant(n).sum()) << n;
      ASSERT_EQ(course->returned_cells(n).hole, all * longest->returned_cells(n).hole) << n;
      const auto compaction = course->compaction(n);
      ASSERT_EQ(compaction.has_value(), longest->compaction(n).has_value()) << n;
      if (!compaction) continue;
      ++moved;
      ASSERT_EQ(compaction->alloc_units, longest->compaction(n)->alloc_units);
      ASSERT_EQ(compaction->kept_cells, live);
    }
  }
  EXPECT_GT(moved, 50);
}

}  // namespace
}  // namespace kvplan
