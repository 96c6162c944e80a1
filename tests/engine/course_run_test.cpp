// Runs with requests that follow courses: fast runs compared with naive ones, the ledger with a walk over every cell of
// every running request, and positional policies given as a keep rule and as courses.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "simulator/attention/drops.h"
#include "tests/support/course_walk.h"
#include "tests/support/holder_tables.h"
#include "tests/support/observed_run.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_drops.h"

namespace kvplan {
namespace {

using core::Course;
using core::CourseShape;
using core::HeldCells;
using test::Coverage;
using test::observe_run;
using test::RandomCase;

/// Courses made from the seed, the request and its prompt, so that both engines get the same.
class Courses final : public core::CourseSource {
 public:
  using MakeDrops = std::function<std::shared_ptr<const core::Drops>(RequestId, std::int64_t prompt)>;
  Courses(const RandomCase& c, core::Placement placement, MakeDrops make)
      : case_(c), placement_(placement), make_(std::move(make)) {}

  Result<const Course*> begin(RequestId r, std::int64_t prompt) override {
    const auto allocator = case_.make_allocator(false);
    const core::MemoryLayout& layout = allocator.value()->layout();
    const CourseShape shape{prompt,
                            case_.workload.final_tokens(r),
                            layout.alloc_unit_tokens,
                            layout.returns_alloc_units(),
                            placement_,
                            case_.reads_holes};
    EXPECT_EQ(in_use_.count(r), 0U);
    return (in_use_[r] = Course::make(shape, make_(r, prompt))).get();
  }
  void end(RequestId r) override { EXPECT_EQ(in_use_.erase(r), 1U); }
  ~Courses() override { EXPECT_TRUE(in_use_.empty()); }

 private:
  const RandomCase& case_;
  core::Placement placement_;
  MakeDrops make_;
  std::map<RequestId, std::unique_ptr<const Course>> in_use_;
};

/// The states of all running requests by walking their cells, after every pass and every settled step.
class Recount final : public core::Observer {
 public:
  Recount(const core::MemoryLayout& layout, const observe::Ledger& ledger)
      : layout_(layout), ledger_(ledger) {}

  void on_course(RequestId r, const Course& course) override {
    auto whole = std::make_shared<test::Walk>(course.shape(), *course.drops());
    whole->prompt();
    for (std::int64_t n = course.shape().prompt; n < course.shape().final_tokens; ++n) {
      whole->drop(n);
      whole->freed_entries();
      whole->write(n);
    }
    running_.emplace(r, Member{&course, test::Walk(course.shape(), *course.drops()), whole, 0, 0, 0});
  }
  void on_grant(const core::Grant& g) override {
    Member& m = running_.at(g.request);
    m.range = g.alloc_units;
    m.walk.grant_to((g.first_block + g.alloc_units) * layout_.alloc_unit_tokens);
  }
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override {
    for (const auto& g : grants) {
      EXPECT_EQ(running_.at(g.request).walk.granted(), g.logical_block);
      running_.at(g.request).walk.grant_to((g.logical_block + 1) * layout_.alloc_unit_tokens);
    }
  }
  void on_chunk(const core::Chunk& c) override { running_.at(c.request).chunk = c.tokens; }
  void on_step_end(SimTime /*time*/, std::span<const RequestId> finishing) override {
    for (auto& [r, m] : running_) {
      const CourseShape& shape = m.course->shape();
      const std::int64_t tokens = m.written >= shape.prompt ? 1 : m.chunk;
      m.chunk = 0;
      for (std::int64_t i = 0; i < tokens; ++i) m.walk.write(m.written++);
      const bool ends = std::find(finishing.begin(), finishing.end(), r) != finishing.end();
      EXPECT_EQ(ends, m.written == shape.final_tokens);
      if (tokens > 0 && m.written >= shape.prompt && !ends) m.walk.drop(m.written);
    }
  }
  void on_free_blocks(const core::FreedBlocks& gone) override {
    const auto expected = running_.at(gone.request).walk.freed_entries();
    EXPECT_EQ(expected, std::vector<std::int32_t>(gone.entries.begin(), gone.entries.end()));
  }
  void on_preempt(const core::Release& r) override { running_.erase(r.request); }
  void on_finish(SimTime /*time*/, const core::Release& r) override { running_.erase(r.request); }
  void on_pass_end(const core::Pass& /*pass*/) override { compare(); }
  void on_settled(SimTime /*time*/, const core::PoolCounts& /*pool*/) override {
    for (auto& [r, m] : running_)
      EXPECT_TRUE(m.written < m.course->shape().prompt || m.walk.freed_entries().empty());
    compare();
  }

 private:
  struct Member {
    const Course* course;
    test::Walk walk;
    std::shared_ptr<const test::Walk> whole;
    std::int64_t written, chunk, range;
  };
  void compare() {
    if (testing::Test::HasFailure()) return;
    HeldCells sum;
    for (const auto& [r, m] : running_) {
      sum += m.walk.count(*m.whole);
      if (!layout_.returns_alloc_units())
        sum.internal += (m.range - m.course->shape().final_tokens) * m.course->units();
    }
    using observe::State;
    const auto& cells = ledger_.cells();
    const std::int64_t cell = layout_.cell_bytes() / layout_.count_bytes();
    const std::int64_t metadata = layout_.metadata_bytes / layout_.count_bytes();
    EXPECT_EQ(cells[index(State::kMetadata)], sum.live * metadata);
    EXPECT_EQ(cells[index(State::kLive)], sum.live * (cell - metadata));
    EXPECT_EQ(cells[index(State::kReserved)], sum.reserved * cell);
    EXPECT_EQ(cells[index(State::kHole)], sum.hole * cell);
    EXPECT_EQ(cells[index(State::kTail)], sum.tail * cell);
    EXPECT_EQ(cells[index(State::kPadding)], sum.padding * cell);
    EXPECT_EQ(cells[index(State::kInternal)], sum.internal * cell);
  }
  core::MemoryLayout layout_;
  const observe::Ledger& ledger_;
  std::map<RequestId, Member> running_;
};

/// Blocks that are inserted into the cache and blocks that are evicted from it, in order.
class Publications final : public core::Observer {
 public:
  void on_insert(RequestId r, std::int64_t logical, BlockId block) override {
    told.push_back({number(r), logical, number(block)});
  }
  void on_evict_block(BlockId block) override { told.push_back({-1, -1, number(block)}); }
  [[nodiscard]] bool wants_insertions() const override { return true; }
  std::vector<std::array<std::int64_t, 3>> told;
};

struct CourseCase {
  std::unique_ptr<RandomCase> base;
  core::Placement placement;
  Courses::MakeDrops drops;
};

CourseCase draw(std::uint64_t seed, bool finds = false) {
  CourseCase out{test::draw_case(seed), {}, {}};
  RandomCase& c = *out.base;
  c.take_courses();
  c.keep = {};
  c.prefix_cache = finds;
  if (!finds) c.workload.prefix = nullptr;
  c.block_ids = finds || seed % 2 == 0;
  c.courses_find = finds;
  Random random(seed, "course runs");
  out.placement = random.chance(1, 2) || finds ? core::Placement::kHoles : core::Placement::kReuse;
  if (finds && random.chance(1, 2)) c.prompt_rows = random.between(1, 40);
  if (finds && random.chance(1, 3)) c.replacement = random.chance(1, 2) ? "lru-k" : "ttl:life_s=0.002";
  // As many cells per token as the drops of any request have: one set of tracks for the whole run. Requests that cannot
  // hit blocks of others may have tracks of their own, like those with a budget that depends on the prompt.
  const std::uint64_t tracks_seed = seed * 7919;
  c.metadata_bytes = random.between(0, 2);
  const bool even = random.chance(1, 2);
  const bool own_tracks = !finds && seed % 4 < 2;
  out.drops = [tracks_seed, even, own_tracks, workload = &c.workload](
                  RequestId r, std::int64_t prompt) -> std::shared_ptr<const core::Drops> {
    Random shared(tracks_seed, "tracks");
    Random own(tracks_seed + static_cast<std::uint64_t>(r), "drops");
    const std::int64_t final_tokens = workload->final_tokens(r);
    auto same = std::make_shared<test::RandomDrops>(shared, own, prompt, final_tokens, even);
    if (!own_tracks || number(r) % 2 == 0) return same;
    const auto units = same->track_units();
    const std::vector<std::int32_t> joined{std::accumulate(units.begin(), units.end(), 0)};
    return std::make_shared<test::RandomDrops>(joined, own, prompt, final_tokens, even);
  };
  const auto sample = out.drops(RequestId{0}, 1);
  c.cells_per_token = 0;
  for (const std::int32_t units : sample->track_units()) c.cells_per_token += units;
  c.token_bytes = c.cells_per_token * (random.between(1, 3) + c.metadata_bytes);
  return out;
}

/// Counts the states by walking the cells of every block: a cell is kept as long as any of its holders keeps it.
class RecountShared final : public core::Observer {
 public:
  RecountShared(const core::MemoryLayout& layout, const observe::Ledger& ledger)
      : layout_(layout), ledger_(ledger) {}

  void on_admit(const core::Admission& a) override {
    EXPECT_TRUE(a.hit_tokens == 0 || a.hit_tokens % layout_.alloc_unit_tokens == 0);
    Member& m = running_[a.request];
    m.table.assign(a.hits.begin(), a.hits.end());
    m.written = a.hit_tokens;
  }
  void on_course(RequestId r, const Course& course) override {
    running_.at(r).course = &course;
    running_.at(r).dropped.resize(course.drops()->track_units().size());
  }
  void on_grant(const core::Grant& g) override {
    for (const BlockId block : g.blocks) fresh(running_.at(g.request), block);
  }
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override {
    for (const auto& g : grants) fresh(running_.at(g.request), g.block);
  }
  void on_chunk(const core::Chunk& c) override { running_.at(c.request).chunk = c.tokens; }
  void on_step_end(SimTime /*time*/, std::span<const RequestId> finishing) override {
    for (auto& [r, m] : running_) {
      const std::int64_t prompt = m.course->shape().prompt;
      const std::int64_t tokens = m.written >= prompt ? 1 : std::exchange(m.chunk, 0);
      for (std::int64_t i = 0; i < tokens; ++i, ++m.written) {
        std::int64_t& written = written_.at(m.table.at(block_of(m.written)));
        written = std::max(written, m.written % layout_.alloc_unit_tokens + 1);
      }
      if (tokens == 0 || m.written < prompt || std::ranges::count(finishing, r) > 0) continue;
      for (std::size_t t = 0; t < m.dropped.size(); ++t) {
        std::vector<std::int32_t> positions;
        m.course->drops()->dropped(static_cast<std::int32_t>(t), m.written, positions);
        m.dropped[t].insert(positions.begin(), positions.end());
      }
    }
  }
  void on_free_blocks(const core::FreedBlocks& gone) override {
    for (const std::int32_t entry : gone.entries)
      running_.at(gone.request).table.at(static_cast<std::size_t>(entry)) = kNoBlock;
  }
  void on_preempt(const core::Release& r) override { running_.erase(r.request); }
  void on_finish(SimTime /*time*/, const core::Release& r) override { running_.erase(r.request); }
  void on_pass_end(const core::Pass& /*pass*/) override { compare(); }
  void on_settled(SimTime /*time*/, const core::PoolCounts& /*pool*/) override {
    for (const auto& [r, m] : running_)
      for (std::size_t b = 0; b < m.table.size(); ++b) {
        if (m.table[b] == kNoBlock || m.written < m.course->shape().prompt) continue;
        bool needed = false;
        for (std::int64_t i = 0; i < layout_.alloc_unit_tokens; ++i)
          needed = needed || position(b, i) >= m.written || keeps_any(m, position(b, i));
        EXPECT_TRUE(needed) << number(r) << " keeps block " << b;
      }
    compare();
  }
  /// Cells that one holder had dropped and another kept, and cells that all of several holders had dropped, at any
  /// time.
  std::int64_t kept_by_others{0}, holes_of_several{0};

 private:
  struct Member {
    const Course* course{nullptr};
    std::vector<BlockId> table;
    std::int64_t written{0}, chunk{0};
    std::vector<std::set<std::int64_t>> dropped;  ///< by track
  };
  void fresh(Member& m, BlockId block) {
    m.table.push_back(block);
    written_[block] = 0;
  }
  [[nodiscard]] std::size_t block_of(std::int64_t position) const {
    return static_cast<std::size_t>(position / layout_.alloc_unit_tokens);
  }
  [[nodiscard]] std::int64_t position(std::size_t block, std::int64_t slot) const {
    return static_cast<std::int64_t>(block) * layout_.alloc_unit_tokens + slot;
  }
  static bool keeps_any(const Member& m, std::int64_t position) {
    return std::ranges::any_of(m.dropped, [&](const auto& gone) { return !gone.contains(position); });
  }
  void compare() {
    if (testing::Test::HasFailure()) return;
    std::map<BlockId, std::vector<std::pair<const Member*, std::size_t>>> holders;
    for (const auto& [r, m] : running_)
      for (std::size_t b = 0; b < m.table.size(); ++b)
        if (m.table[b] != kNoBlock) holders[m.table[b]].emplace_back(&m, b);
    HeldCells sum;
    for (const auto& [block, sharers] : holders) {
      const auto units = sharers.front().first->course->drops()->track_units();
      for (std::size_t t = 0; t < units.size(); ++t) {
        for (std::int64_t i = 0; i < layout_.alloc_unit_tokens; ++i) {
          const bool awaited = std::ranges::any_of(sharers, [&](const auto& x) {
            return position(x.second, i) < x.first->course->shape().final_tokens;
          });
          const auto keepers = std::ranges::count_if(
              sharers, [&](const auto& x) { return !x.first->dropped[t].contains(position(x.second, i)); });
          if (i >= written_.at(block)) {
            (awaited ? sum.reserved : sum.tail) += units[t];
          } else {
            (keepers > 0 ? sum.live : sum.hole) += units[t];
            if (keepers > 0 && keepers < std::ssize(sharers)) ++kept_by_others;
            if (keepers == 0 && sharers.size() > 1) ++holes_of_several;
          }
        }
      }
    }
    using observe::State;
    const auto cells = ledger_.cells();
    const std::int64_t cell = layout_.cell_bytes() / layout_.count_bytes();
    const std::int64_t metadata = layout_.metadata_bytes / layout_.count_bytes();
    EXPECT_EQ(cells[index(State::kMetadata)], sum.live * metadata);
    EXPECT_EQ(cells[index(State::kLive)], sum.live * (cell - metadata));
    EXPECT_EQ(cells[index(State::kReserved)], sum.reserved * cell);
    EXPECT_EQ(cells[index(State::kHole)], sum.hole * cell);
    EXPECT_EQ(cells[index(State::kTail)], sum.tail * cell);
    EXPECT_EQ(cells[index(State::kPadding)] + cells[index(State::kInternal)], 0);
  }
  core::MemoryLayout layout_;
  const observe::Ledger& ledger_;
  std::map<RequestId, Member> running_;
  std::map<BlockId, std::int64_t> written_;
};

TEST(CourseRuns, FastEqualsNaive) {
  Coverage coverage;
  for (std::int64_t seed = 1; seed <= test::random_cases(500); ++seed) {
    const CourseCase c = draw(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c.base->allocator);
    Courses naive(*c.base, c.placement, c.drops);
    Courses fast(*c.base, c.placement, c.drops);
    ASSERT_EQ(observe_run(*c.base, true, &naive), observe_run(*c.base, false, &fast, &coverage));
  }
  for (const std::int64_t count :
       {coverage.preempted, coverage.refused, coverage.in_runs, coverage.blocks_freed})
    EXPECT_GT(count, 100);
}

/// Runs the case step by step with such an observer in addition to the ledger; null if there is no pool.
template <class Walker>
std::unique_ptr<Walker> run_beside(const CourseCase& c) {
  Courses courses(*c.base, c.placement, c.drops);
  std::unique_ptr<Walker> walker;
  observe_run(
      *c.base, true, &courses, nullptr,
      [&](const core::MemoryLayout& layout, const observe::Ledger& ledger) -> std::vector<core::Observer*> {
        walker = std::make_unique<Walker>(layout, ledger);
        return {walker.get()};
      });
  return walker;
}

TEST(CourseRuns, LedgerEqualsWalkingEveryCell) {
  for (std::int64_t seed = 1; seed <= test::random_cases(60); ++seed) {
    const CourseCase c = draw(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c.base->allocator);
    run_beside<Recount>(c);
    if (HasFailure()) return;
  }
}

TEST(CourseRuns, FastEqualsNaiveWherePrefixesAreFound) {
  Coverage coverage;
  for (std::int64_t seed = 1; seed <= test::random_cases(500); ++seed) {
    CourseCase c = draw(static_cast<std::uint64_t>(seed), true);
    if (c.base->allocator.rfind("paged", 0) != 0) continue;
    // With an event log, and without an observer.
    for (const bool watched : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (watched ? " watched" : ""));
      Courses naive(*c.base, c.placement, c.drops);
      Courses fast(*c.base, c.placement, c.drops);
      Publications of_naive;
      Publications of_fast;
      const auto beside = [watched](Publications& all) {
        return [&all, watched](const core::MemoryLayout&, const observe::Ledger&) {
          return watched ? std::vector<core::Observer*>{&all} : std::vector<core::Observer*>{};
        };
      };
      const std::string expected = observe_run(*c.base, true, &naive, nullptr, beside(of_naive));
      ASSERT_EQ(expected, observe_run(*c.base, false, &fast, &coverage, beside(of_fast)));
      ASSERT_EQ(of_naive.told, of_fast.told);
    }
  }
  for (const std::int64_t count : {coverage.preempted, coverage.refused, coverage.in_runs,
                                   coverage.blocks_freed, coverage.hits, coverage.rehits})
    EXPECT_GT(count, 100);
}

TEST(CourseRuns, LedgerEqualsWalkingEveryCellOfSharedBlocks) {
  std::int64_t kept_by_others = 0;
  std::int64_t holes_of_several = 0;
  for (std::int64_t seed = 1; seed <= test::random_cases(120); ++seed) {
    const CourseCase c = draw(static_cast<std::uint64_t>(seed), true);
    if (c.base->allocator.rfind("paged", 0) != 0) continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto recount = run_beside<RecountShared>(c);
    if (HasFailure()) return;
    if (recount == nullptr) continue;
    kept_by_others += recount->kept_by_others;
    holes_of_several += recount->holes_of_several;
  }
  EXPECT_GT(kept_by_others, 1000);
  EXPECT_GT(holes_of_several, 100);
}

/// The table of holders has a row for each request, and equals the ledger at every moment.
TEST(CourseRuns, TablesOfHoldersAreTheLedgers) {
  test::Seen seen;
  for (std::int64_t seed = 2; seed <= test::random_cases(120, 120); seed += 2) {  // the cases with block ids
    const CourseCase c = draw(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c.base->allocator);
    Random random(static_cast<std::uint64_t>(seed), "holders");
    c.base->block_ids = true;
    test::check_tables(*c.base, random, seen,
                       [&] { return std::make_unique<Courses>(*c.base, c.placement, c.drops); });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(seen.rows[observe::HeldRow::Kind::kTable], 100);
  EXPECT_GT(seen.rows[observe::HeldRow::Kind::kRange], 20);
}

TEST(CourseRuns, TablesOfHoldersAreTheLedgersWherePrefixesAreFound) {
  test::Seen seen;
  for (std::int64_t seed = 1; seed <= test::random_cases(120, 120); ++seed) {
    const CourseCase c = draw(static_cast<std::uint64_t>(seed), true);
    if (c.base->allocator.rfind("paged", 0) != 0) continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed), "holders");
    test::check_tables(*c.base, random, seen,
                       [&] { return std::make_unique<Courses>(*c.base, c.placement, c.drops); });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(seen.rows[observe::HeldRow::Kind::kBlock], 100);
  EXPECT_GT(seen.rows[observe::HeldRow::Kind::kTable], 100);
  EXPECT_GT(seen.rows[observe::HeldRow::Kind::kCached], 100);
}

/// A positional policy with holes, given as a keep rule and as courses: both runs are equal.
TEST(CourseRuns, KeepRuleEqualsCourses) {
  std::int64_t evicting = 0;
  Coverage coverage;
  for (std::int64_t seed = 1; seed <= test::random_cases(400, 400); ++seed) {
    const auto c = test::draw_case(static_cast<std::uint64_t>(seed));
    if (!c->keep.evicts()) continue;
    c->take_courses();
    ++evicting;
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    c->prefix_cache = c->prefix_cache && seed % 3 > 0;
    if (!c->prefix_cache) c->workload.prefix = nullptr;
    const std::string by_rule = observe_run(*c, false, nullptr, &coverage);
    const core::KeepRule keep = c->keep;
    c->keep = {};
    c->courses_find = c->prefix_cache;
    c->block_ids = c->courses_find || seed % 2 == 0;
    Courses courses(*c, core::Placement::kHoles, [&](RequestId /*r*/, std::int64_t prompt) {
      return std::make_shared<attention::IntervalDrops>(attention::KeptInterval{keep.sink, keep.recent},
                                                        prompt, 1);
    });
    ASSERT_EQ(by_rule, observe_run(*c, false, &courses));
  }
  EXPECT_GT(evicting, 100);
  EXPECT_GT(coverage.hits, 100);
  EXPECT_GT(coverage.rehits, 20);
}

}  // namespace
}  // namespace kvplan
