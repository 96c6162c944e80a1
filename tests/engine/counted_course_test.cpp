// Counted courses compared with a table of cells that is followed cell by cell, and runs of requests that follow them.
#include "simulator/courses/counted_course.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "simulator/courses/gathered_course.h"
#include "tests/support/holder_tables.h"
#include "tests/support/observed_run.h"

namespace kvplan {
namespace {

using core::Course;
using core::CourseShape;
using core::HeldCells;
using core::KeptCount;

/// A table of `units` units, followed cell by cell: true if the unit keeps a token there.
struct Table {
  explicit Table(std::size_t count = 1) : units(count) {}
  std::vector<std::vector<bool>> units;
  std::int64_t blocks{0};
  std::int64_t compactions{0}, kept_by_them{0}, freed{0};

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(units.front().size()); }
  void write(std::int64_t block) {
    for (auto& cells : units) cells.push_back(true);
    blocks = std::max(blocks, ceil_div(size(), block));
  }
  /// `kept`: of each unit.
  void drop_to(const std::vector<std::int64_t>& kept) {
    for (std::size_t u = 0; u < units.size(); ++u)
      for (std::size_t i = 0; std::count(units[u].begin(), units[u].end(), true) > kept[u]; ++i)
        units[u][i] = false;
  }
  void move_together(const std::vector<std::int64_t>& kept, std::int64_t block) {
    const std::int64_t most = *std::max_element(kept.begin(), kept.end());
    if (size() - most < block) return;
    for (std::size_t u = 0; u < units.size(); ++u) {
      units[u].assign(static_cast<std::size_t>(most), false);
      std::fill_n(units[u].begin(), kept[u], true);
      kept_by_them += kept[u];
    }
    const std::int64_t left = ceil_div(most, block);
    freed += blocks - left;
    blocks = left;
    ++compactions;
  }
  /// `awaited`: tokens that the request has still to write.
  [[nodiscard]] HeldCells states(std::int64_t block, std::int64_t awaited) const {
    HeldCells held;
    for (const auto& cells : units)
      for (const bool kept : cells) ++(kept ? held.live : held.hole);
    for (std::int64_t i = size(); i < blocks * block; ++i)
      (awaited-- > 0 ? held.reserved : held.tail) += static_cast<std::int64_t>(units.size());
    return held;
  }
};

void expect_same(const HeldCells& a, const HeldCells& b, std::int64_t n) {
  EXPECT_EQ(a.live, b.live) << n;
  EXPECT_EQ(a.reserved, b.reserved) << n;
  EXPECT_EQ(a.hole, b.hole) << n;
  EXPECT_EQ(a.tail, b.tail) << n;
  EXPECT_EQ(a.padding + a.internal, 0) << n;
}

/// Second implementation of the number of tokens kept after n.
std::int64_t kept_after(const KeptCount& count, std::int64_t n, std::int64_t prompt) {
  std::int64_t kept = std::min(prompt, count.budget);
  for (std::int64_t i = prompt; i < n; ++i) kept = count.once ? kept + 1 : std::min(kept + 1, count.budget);
  return kept;
}

/// A queue of later tokens: the oldest ones are dropped when they are a full round.
TEST(KeptCount, ThinsLaterTokensInRounds) {
  for (const core::Thinning thinning :
       {core::Thinning{0, 1, 0}, core::Thinning{0, 4, 3}, core::Thinning{5, 4, 1}, core::Thinning{3, 16, 15}})
    for (const std::int64_t budget : {5, 20}) {
      constexpr std::int64_t kPrompt = 10;
      const KeptCount count{.budget = budget, .once = true, .thinning = thinning};
      std::int64_t kept = std::min(budget, kPrompt);
      std::int64_t whole = 0;  // later tokens that are not part of a round yet
      for (std::int64_t n = kPrompt; n < 100; ++n) {
        EXPECT_EQ(count.of(n, kPrompt), kept) << n;
        ++kept;
        if (++whole < thinning.newest + thinning.round) continue;
        whole -= thinning.round;
        kept -= thinning.leave;
      }
    }
}

/// Tokens that each unit keeps after n: [unit][n - prompt].
using Kept = std::vector<std::vector<std::int64_t>>;

/// In each unit, the oldest tokens are dropped.
class Oldest final : public core::Drops {
 public:
  Oldest(Kept kept, std::int64_t prompt) : kept_(std::move(kept)), prompt_(prompt), units_(kept_.size(), 1) {}
  [[nodiscard]] std::span<const std::int32_t> track_units() const override { return units_; }
  void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const override {
    const auto gone = [&](std::int64_t m) {
      return m < prompt_ ? 0
                         : m - kept_[static_cast<std::size_t>(track)][static_cast<std::size_t>(m - prompt_)];
    };
    for (std::int64_t p = gone(n - 1); p < gone(n); ++p) positions.push_back(static_cast<std::int32_t>(p));
  }

 private:
  Kept kept_;
  std::int64_t prompt_;
  std::vector<std::int32_t> units_;
};

void compare(const Course& course, const Kept& kept_by, Table& table) {
  const CourseShape& shape = course.shape();
  const std::int64_t block = shape.alloc_unit_tokens;
  const auto units = static_cast<std::int64_t>(kept_by.size());
  EXPECT_EQ(course.units(), units);
  table.blocks = ceil_div(shape.prompt, block);
  expect_same(course.granted(0, table.blocks), table.states(block, shape.final_tokens), 0);
  for (std::int64_t i = 0; i < shape.prompt; ++i) table.write(block);
  for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
    ASSERT_EQ(course.table_slots(n), table.size());
    std::vector<std::int64_t> kept;
    for (const auto& unit : kept_by) kept.push_back(unit[static_cast<std::size_t>(n - shape.prompt)]);
    table.drop_to(kept);
    const Table before = table;
    table.move_together(kept, block);
    const auto moved = course.compaction(n);
    ASSERT_EQ(moved.has_value(), table.compactions > before.compactions) << n;
    ASSERT_EQ(course.returns_blocks(n), moved.has_value());
    if (moved) {
      EXPECT_EQ(moved->kept_cells, table.kept_by_them - before.kept_by_them);
      EXPECT_EQ(moved->alloc_units_before, before.blocks);
      EXPECT_EQ(moved->alloc_units, table.blocks);
    }
    expect_same(course.settled(n) + course.returned_cells(n), before.states(block, shape.final_tokens - n),
                n);
    expect_same(course.settled(n), table.states(block, shape.final_tokens - n), n);
    // The held and written slots are those of the table.
    EXPECT_EQ(course.read_tokens(n),
              shape.reads_holes ? table.size() : ceil_div(course.settled(n).live, units));
    Table next = table;
    next.write(block);
    HeldCells granted;
    if (next.blocks > table.blocks) {
      granted.reserved = units * std::min(block, shape.final_tokens - n);
      granted.tail = units * block - granted.reserved;
    }
    EXPECT_EQ(course.grant(n), granted) << n;
    table = next;
  }
  // Steps counted as alike must be equal, and their number right.
  const auto during = [&](std::int64_t m) { return course.settled(m) + course.grant(m); };
  const auto read = [&](std::int64_t m) { return course.read_tokens(m + 1) - course.read_tokens(m); };
  for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
    std::int64_t steps = 1;
    for (std::int64_t m = n + 1; m < shape.final_tokens; ++m, ++steps)
      if (course.returns_blocks(m) || course.grant(m).sum() > 0 || read(n) < 0 || read(n) > 1 ||
          during(m) - during(m - 1) != during(n + 1) - during(n) || read(m - 1) != read(n))
        break;
    ASSERT_EQ(course.alike_steps(n), steps) << n;
  }
}

/// `counts`: of each unit of the table. The course is made from counts, and from drops.
void compare(const CourseShape& shape, const std::vector<KeptCount>& counts, Table& table) {
  std::vector<core::CountedUnits> given;
  Kept kept;
  for (const KeptCount& count : counts) {
    given.push_back({count, 1});
    kept.emplace_back();
    for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n)
      kept.back().push_back(kept_after(count, n, shape.prompt));
  }
  Table again = table;
  compare(*core::make_counted_course(shape, given), kept, table);
  compare(*core::make_gathered_course(shape, std::make_shared<Oldest>(kept, shape.prompt)), kept, again);
}

CourseShape draw_shape(Random& random, bool reads_holes) {
  CourseShape shape;
  shape.placement = core::Placement::kCompact;
  shape.prompt = random.between(1, 40);
  shape.final_tokens = shape.prompt + random.between(0, 60);
  shape.alloc_unit_tokens = random.between(1, 9);
  shape.reads_holes = reads_holes;
  return shape;
}

TEST(CountedCourse, EqualsATableOfCells) {
  std::int64_t compactions = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "counted courses");
    const CourseShape shape = draw_shape(random, seed % 2 == 0);
    const bool once = random.chance(1, 3);
    std::vector<KeptCount> counts(seed % 3 == 0 ? static_cast<std::size_t>(random.between(2, 5)) : 1);
    for (KeptCount& count : counts) count = {random.between(1, random.chance(1, 2) ? 12 : 70), once};
    Table table(counts.size());
    compare(shape, counts, table);
    if (HasFailure()) return;
    compactions += table.compactions;
  }
  EXPECT_GT(compactions, 5000);
}

/// Units may keep any number of tokens, including none.
TEST(GatheredCourse, EqualsATableOfCells) {
  std::int64_t compactions = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "gathered courses");
    const CourseShape shape = draw_shape(random, seed % 2 == 0);
    Kept kept(static_cast<std::size_t>(random.between(1, 4)));
    for (auto& unit : kept) {
      const auto often = static_cast<std::uint64_t>(random.between(1, 6));
      std::int64_t now = random.between(seed % 5 == 0 ? 0 : 1, shape.prompt);
      for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
        unit.push_back(now);
        now += random.chance(1, often) ? 1 - random.between(0, now + 1) : 1;
      }
    }
    Table table(kept.size());
    compare(*core::make_gathered_course(shape, std::make_shared<Oldest>(kept, shape.prompt)), kept, table);
    if (HasFailure()) return;
    compactions += table.compactions;
    // Counts for units that all keep the same as the first one, and for each unit separately.
    const Kept alike(kept.size(), kept[0]);
    const auto told = core::make_course_of_kept(shape, {{kept[0], std::ssize(alike)}});
    Table same(alike.size());
    compare(*told, alike, same);
    ASSERT_EQ(told->kept_by_length().size(), 1U);
    EXPECT_EQ(told->kept_by_length()[0].kept, kept[0]);
    std::vector<core::KeptUnits> each;
    for (const auto& unit : kept) each.push_back({unit, 1});
    Table own(kept.size());
    compare(*core::make_course_of_kept(shape, each), kept, own);
    if (HasFailure()) return;
  }
  EXPECT_GT(compactions, 5000);
}

/// The example of simulator/docs/semantics.md.
TEST(CountedCourse, ManualsExample) {
  Table table;
  compare({10, 15, 4, true, core::Placement::kCompact}, {{5, false}}, table);
  EXPECT_EQ(table.compactions, 2);
  EXPECT_EQ(table.kept_by_them, 10);
  EXPECT_EQ(table.freed, 2);
  const auto course =
      core::make_counted_course({10, 15, 4, true, core::Placement::kCompact}, {{{5, false}, 1}});
  EXPECT_EQ(course->settled(13).hole, 3);
  EXPECT_EQ(course->settled(14).hole, 0);
  EXPECT_EQ(course->settled(14).reserved, 1);
  EXPECT_EQ(course->settled(14).tail, 2);
}

class Courses final : public core::CourseSource {
 public:
  Courses(const test::RandomCase& c, std::vector<core::CountedUnits> counts)
      : case_(c), counts_(std::move(counts)) {}
  Result<const Course*> begin(RequestId r, std::int64_t prompt) override {
    const auto allocator = case_.make_allocator(false);
    const CourseShape shape{
        prompt, case_.workload.final_tokens(r), allocator.value()->layout().alloc_unit_tokens,
        true,   core::Placement::kCompact,      case_.reads_holes};
    EXPECT_EQ(in_use_.count(r), 0U);
    return (in_use_[r] = core::make_counted_course(shape, counts_)).get();
  }
  void end(RequestId r) override { EXPECT_EQ(in_use_.erase(r), 1U); }

 private:
  const test::RandomCase& case_;
  std::vector<core::CountedUnits> counts_;
  std::map<RequestId, std::unique_ptr<const Course>> in_use_;
};

struct Drawn {
  std::unique_ptr<test::RandomCase> base;
  std::vector<core::CountedUnits> counts;  ///< of the cells of a token
};
/// Returns nothing if the case has no blocks.
std::optional<Drawn> draw(std::uint64_t seed) {
  Drawn out{test::draw_case(seed), {}};
  test::RandomCase& c = *out.base;
  if (c.allocator.rfind("paged", 0) != 0) return {};
  c.keep = {};
  c.prefix_cache = false;
  c.workload.prefix = nullptr;
  c.block_ids = seed % 2 == 0;
  Random random(seed, "counted runs");
  c.metadata_bytes = random.between(0, 2);
  c.token_bytes = random.between(1, 3) + c.metadata_bytes;
  if (random.chance(1, 5)) c.token_bytes *= 1 << 20;  // moving takes time, where a model says how much
  const bool once = random.chance(1, 4);
  c.cells_per_token = random.chance(1, 3) ? random.between(2, 4) : 1;
  c.token_bytes *= c.cells_per_token;
  for (std::int64_t cell = 0; cell < c.cells_per_token; ++cell)
    out.counts.push_back({{random.between(1, random.chance(1, 2) ? 20 : 150), once}, 1});
  return out;
}

TEST(CountedRuns, FastEqualsNaive) {
  test::Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const auto c = draw(seed);
    if (!c) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->base->allocator);
    Courses naive(*c->base, c->counts);
    Courses fast(*c->base, c->counts);
    ASSERT_EQ(observe_run(*c->base, true, &naive), observe_run(*c->base, false, &fast, &coverage));
  }
  for (const std::int64_t count :
       {coverage.preempted, coverage.refused, coverage.in_runs, coverage.blocks_freed, coverage.compactions})
    EXPECT_GT(count, 100);
}

TEST(CountedRuns, TablesOfHoldersAreTheLedgers) {
  test::Seen seen;
  for (std::uint64_t seed = 2; seed <= 120; seed += 2) {
    const auto c = draw(seed);
    if (!c) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->base->allocator);
    Random random(seed, "holders");
    test::check_tables(*c->base, random, seen,
                       [&] { return std::make_unique<Courses>(*c->base, c->counts); });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(seen.rows[observe::HeldRow::Kind::kTable], 100);
}

}  // namespace
}  // namespace kvplan
