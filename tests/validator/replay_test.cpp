// The replay finds the simulator's bytes equal at every event, on every backend, and finds every change of a log that
// changes its meaning.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tests/support/ids.h"
#include "tests/support/random_cases.h"
#include "tests/validator/hand_log.h"
#include "tests/validator/hand_log_courses.h"
#include "tests/validator/mutations.h"
#include "tests/validator/replays.h"

namespace kvplan {
namespace {

using test::LogCase;
using test::operator""_r;
using test::replay;
using test::Stepping;
using validator::Report;

class HandMade : public testing::TestWithParam<decltype(&test::hand_made_log)> {};
INSTANTIATE_TEST_SUITE_P(Logs, HandMade,
                         testing::Values(test::hand_made_log, test::hand_made_course_log,
                                         test::hand_made_shared_course_log, test::hand_made_compact_log,
                                         test::hand_made_move_log, test::hand_made_tree_log,
                                         test::hand_made_priority_log, test::hand_made_groups_log));

TEST_P(HandMade, CountsAsWorkedOut) {
  const auto [header, records] = GetParam()();
  const Report report = replay({header, records});
  EXPECT_EQ(report.first_problem, "");
  EXPECT_EQ(report.moments, std::count_if(records.begin(), records.end(),
                                          [](const auto& record) { return record.claims.has_totals; }));
  // Each total is increased by one, one at a time: all of them are checked.
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (std::size_t s = 0; records[i].claims.has_totals && s < event_log::kStates; ++s) {
      auto changed = records;
      ++changed[i].claims.totals[s];
      EXPECT_EQ(replay({header, changed}).byte_mismatches, 1) << i << ", state " << s;
    }
  }
}

/// The message for each change of a log of a run with priorities.
TEST(Replay, HeldBackRequestsFollowFromPreemptions) {
  const auto made = test::hand_made_priority_log();
  const auto index_of = [&](const char* name) {
    const auto at = std::find_if(made.second.begin(), made.second.end(), [&](const auto& record) {
      return std::string_view(event_log::kFactNames[record.fact.index()]) == name;
    });
    return static_cast<std::size_t>(at - made.second.begin());
  };
  const std::size_t gives_way = index_of("preempt"), held = index_of("hold_back");
  const auto problem = [&](auto change) {
    auto changed = made;
    change(changed.first, changed.second);
    return replay({changed.first, changed.second}).first_problem;
  };
  using Header = event_log::Header;
  using Records = std::vector<event_log::Record>;
  const auto expect = [](const std::string& found, const char* what) {
    EXPECT_NE(found.find(what), std::string::npos) << found;
  };
  expect(problem([&](Header&, Records& r) { r.erase(r.begin() + static_cast<std::ptrdiff_t>(held)); }),
         "request 1 computes, but an earlier request preempted itself");
  expect(
      problem([&](Header&, Records& r) { r.insert(r.begin() + static_cast<std::ptrdiff_t>(held), r[held]); }),
      "request 1 is held back out of order");
  expect(problem([&](Header&, Records& r) { std::swap(r[gives_way], r[held]); }),
         "request 1 is held back, but no request preempted itself");
  expect(problem([&](Header&, Records& r) {
           r[gives_way].fact = event_log::Preempt{1_r, 3};
         }),
         "request 1 is preempted, but request 0 must be preempted first");
  expect(problem([&](Header&, Records& r) {
           r[held].fact = event_log::Grant{1_r, 2, 1, {}};
         }),
         "request 1 has an event out of order");
  expect(problem([&](Header&, Records& r) {
           r[held].fact = event_log::Preempt{1_r, 3};
         }),
         "request 1 is preempted after another request preempted itself");
  expect(problem([&](Header&, Records& r) { std::get<event_log::Arrival>(r[0].fact).priority = -1; }),
         "request 0 is preempted, but request 1 must be preempted first");
  expect(problem([&](Header& header, Records&) { header.rules.by_priority = false; }),
         "request 0 has a priority, but the policy has none");
}

/// The message for each change of a log with prefix hits in layer groups.
TEST(Replay, WhatIsTakenOfGroupsFollowsFromTheirWindows) {
  using event_log::Admit;
  using Records = std::vector<event_log::Record>;
  const auto made = test::hand_made_groups_log();
  const auto finds = std::find_if(made.second.begin(), made.second.end(), [](const auto& record) {
    const auto* admit = std::get_if<Admit>(&record.fact);
    return admit != nullptr && admit->found_blocks > 0;
  });
  const auto at = static_cast<std::size_t>(finds - made.second.begin());
  const auto expect = [&](const char* what, auto change) {
    auto changed = made;
    change(changed.first, changed.second, std::get<Admit>(changed.second[at].fact));
    const std::string found = replay({changed.first, changed.second}).first_problem;
    EXPECT_NE(found.find(what), std::string::npos) << found;
  };
  using event_log::Header;
  expect("request 1 takes more of its hit blocks than its sliding windows need",
         [](Header&, Records&, Admit& f) { f.found_blocks = 1; });
  expect("request 1 finds 2 blocks, of which it takes 2 and not 3", [&](Header&, Records& records, Admit& f) {
    f.hit_keys.pop_back();
    f.hit_publications.pop_back();
    records[at].claims.places.pop_back();
  });
  expect("request 1 hits cache insertion 1, which belongs to other layers",
         [](Header& header, Records&, Admit&) { header.groups[1].window = 4; });
  expect("request 1 hits cache insertion 3, which belongs to other layers", [](Header&, Records&, Admit& f) {
    std::swap(f.hit_keys[1], f.hit_keys[2]);
    std::swap(f.hit_publications[1], f.hit_publications[2]);
  });
  expect("request 1 hits cache insertion 0 twice", [](Header&, Records&, Admit& f) {
    f.hit_keys[1] = f.hit_keys[0];
    f.hit_publications[1] = f.hit_publications[0];
  });
  expect("request 1 hits a different content in cache insertion 1 than it looked up",
         [](Header&, Records&, Admit& f) { f.hit_keys[1] = 8; });
  expect("request 1 hits all its tokens", [](Header&, Records&, Admit& f) { f.found_blocks = 3; });
  expect("request 1 hits a negative number of blocks",
         [](Header&, Records&, Admit& f) { f.found_blocks = -1; });
  expect("request 1 finds 5 blocks of each group; 4 were ever inserted into the cache",
         [](Header&, Records& records, Admit& f) {
           std::get<event_log::Arrival>(records[1].fact).input = 50;
           f.found_blocks = 5;
         });
  expect("request 1 hits blocks of layer groups, but there are no groups",
         [](Header& header, Records& records, Admit&) {
           header.groups.clear();
           records.erase(records.begin() + 5, records.begin() + 9);
         });
  expect("request 0 does not insert into the cache group by group",
         [](Header&, Records& records, Admit&) { std::swap(records[6], records[7]); });
  expect("request 0 shares a content that belongs to another layer group than block 1 of its table",
         [](Header&, Records& records, Admit&) {
           std::get<event_log::Grant>(records[4].fact).shared_keys[1] = 8;
         });

  // The same in two facts.
  auto split = made;
  auto& first = split.second[at];
  auto second = first;
  const auto keep = [](event_log::Record& record, std::ptrdiff_t begin, std::ptrdiff_t end) {
    const auto part = [&](auto& list) { list = {list.begin() + begin, list.begin() + end}; };
    part(std::get<Admit>(record.fact).hit_keys);
    part(std::get<Admit>(record.fact).hit_publications);
    part(record.claims.places);
  };
  keep(first, 0, 2);
  keep(second, 2, 3);
  split.second.insert(split.second.begin() + static_cast<std::ptrdiff_t>(at) + 1, second);
  EXPECT_EQ(replay({split.first, split.second}).first_problem, "");
  std::get<Admit>(split.second[at + 1].fact).found_blocks = 1;
  EXPECT_NE(replay({split.first, split.second})
                .first_problem.find("request 1 hits a different number of blocks than before"),
            std::string::npos);
}

/// A request that follows a course inserts blocks until its first drop, and shares no block to which it writes.
TEST(Replay, WhatIsPublishedFollowsFromTheFirstDrop) {
  const auto made = test::hand_made_shared_course_log();
  const auto problem = [&](auto change) {
    auto records = made.second;
    change(records);
    return replay({made.first, records}).first_problem;
  };
  const auto at = [](auto& records, auto is) {
    return std::find_if(records.begin(), records.end(), [&](const auto& record) { return is(record.fact); });
  };
  const auto own = [](const event_log::Fact& fact) {
    const auto* const publish = std::get_if<event_log::Publish>(&fact);
    return publish != nullptr && publish->key != 8;
  };
  EXPECT_EQ(problem([&](auto& records) { records.erase(at(records, own)); }),
            "event 38 (step_end): request 1 has 2 full blocks and published 1");
  // In the pass at 10, both requests fill their second block, but have dropped cells by then.
  EXPECT_EQ(problem([&](auto& records) {
              const auto pass = at(records, [](const event_log::Fact& fact) {
                const auto* const begin = std::get_if<event_log::PassBegin>(&fact);
                return begin != nullptr && begin->time == 10;
              });
              records.insert(pass + 1, {event_log::Publish{0_r, 1, event_log::own_key(0_r, 1)}, {}});
            }),
            "event 19 (publish): request 0 inserts into the cache after it evicted tokens");
  // Whatever request 1 keeps, request 0 keeps nothing and must free its block.
  EXPECT_EQ(problem([&](auto& records) {
              records.erase(at(records, [](const event_log::Fact& fact) {
                return std::holds_alternative<event_log::LetGo>(fact);
              }));
            }),
            "event 22 (settled): request 0 keeps blocks without any kept token");
  EXPECT_EQ(problem([&](auto& records) {
              auto& first =
                  std::get<event_log::Grant>(at(records, [](const event_log::Fact& fact) {
                                               return std::holds_alternative<event_log::Grant>(fact);
                                             })->fact);
              first.shared_keys = {10};
            }),
            "event 6 (publish): request 0 inserts a different content than the block was allocated for");
  // A policy that needs the rows of two tokens allows no hit of two tokens of three.
  auto header = made.first;
  header.prompt_rows = 2;
  EXPECT_EQ(replay({header, made.second}).first_problem,
            "event 8 (admit): request 1 finds 2 of 3 tokens, of which the last 2 are always computed");
  // The hit block is written by another request, and has that request's place.
  EXPECT_EQ(
      problem([&](auto& records) {
        auto& hit =
            std::get<event_log::Admit>(std::find_if(records.rbegin(), records.rend(), [](const auto& record) {
                                         return std::holds_alternative<event_log::Admit>(record.fact);
                                       })->fact);
        hit.hit_publications.insert(hit.hit_publications.begin(), 0);
        hit.hit_keys.insert(hit.hit_keys.begin(), 8);
      }),
      "event 33 (admit): request 1 hits cache insertion 0 at another position of its table than where it "
      "was filled");
}

/// More blocks than one fact lists: all of them must be reported before the request continues.
TEST(Replay, ManyBlocksThatWindowsLeaveAreToldInSeveralFacts) {
  traces::Trace trace;
  trace.arrival_ns = {0};
  trace.input_tokens = {20000};
  trace.output_tokens = {3};
  const LogCase c{.name = "long",
                  .allocator = "grouped:block_tokens=1",
                  .pool_tokens = 60000,
                  .windows_model = true,
                  .scheduler = {.token_budget = 20000, .max_seqs = 4, .max_model_len = 30000}};
  auto log = test::read_log(test::log_of_run(trace, c, Stepping::kFast));
  EXPECT_EQ(replay(log, 1000).first_problem, "");
  std::vector<std::size_t> told;
  for (std::size_t i = 0; i < log.records.size(); ++i)
    if (std::holds_alternative<event_log::LetGo>(log.records[i].fact)) told.push_back(i);
  ASSERT_GT(told.size(), 2U);
  ASSERT_EQ(told[1], told[0] + 1);
  const auto problem_without = [&](std::size_t fact, std::size_t blocks) {
    auto changed = log;
    auto& gone = std::get<event_log::LetGo>(changed.records[fact].fact).logical_blocks;
    gone.resize(gone.size() - blocks);
    if (gone.empty()) changed.records.erase(changed.records.begin() + static_cast<std::ptrdiff_t>(fact));
    return replay(changed, 1000).first_problem;
  };
  const auto all = std::get<event_log::LetGo>(log.records[told[1]].fact).logical_blocks.size();
  EXPECT_NE(problem_without(told[1], all).find("continues and keeps block"), std::string::npos);
  for (const std::size_t fact : {told[0], told[1]})
    EXPECT_NE(problem_without(fact, 1).find("frees other blocks than the ones behind its windows"),
              std::string::npos);
}

TEST(Replay, BytesAreEqualAtEveryEvent) {
  for (std::uint64_t seed = 1; std::cmp_less_equal(seed, test::random_cases(12)); ++seed) {
    const traces::Trace trace = test::random_trace(seed);
    for (const LogCase& c : test::small_cases()) {
      const auto log = test::read_log(test::log_of_run(trace, c, Stepping::kFast));
      const Report report = replay(log);
      ASSERT_EQ(report.first_problem, "") << c.name << ", seed " << seed;
      EXPECT_EQ(report.byte_mismatches + report.place_mismatches + report.count_mismatches, 0);
      EXPECT_EQ(report.events, static_cast<std::int64_t>(log.records.size()));
      EXPECT_GT(report.moments, 0);
      EXPECT_EQ(report.full_scans, report.moments + 1);
    }
  }
}

TEST(Replay, BytesAreEqualOnTheMicroTrace) {
  const scheduling::vllm::Params scheduler{
      .token_budget = 2048, .max_seqs = 64, .long_prefill_threshold = 300};
  for (const LogCase& c : {
           LogCase{.name = "cached", .pool_blocks = 1024, .token_bytes = 131072, .scheduler = scheduler},
           LogCase{.name = "streaming", .pool_blocks = 1024, .scheduler = scheduler, .keep = {4, 100}},
           LogCase{.name = "oracle",
           .allocator = "contiguous:reserve=oracle",
           .pool_tokens = 30000,
           .scheduler = scheduler},
       }) {
    const auto log = test::read_log(test::log_of_run(test::micro_trace(), c, Stepping::kFast));
    const Report report = replay(log, 1000);
    EXPECT_EQ(report.first_problem, "") << c.name;
    EXPECT_GT(report.moments, 10000) << c.name;
  }
}

TEST(Replay, WhereNothingIsKeptNothingIsGrantedDroppedOrRefused) {
  const auto cases = test::small_cases();
  const auto nothing =
      std::find_if(cases.begin(), cases.end(), [](const LogCase& c) { return c.name == "nothing"; });
  ASSERT_NE(nothing, cases.end());
  const auto log = test::read_log(test::log_of_run(test::random_trace(3), *nothing, Stepping::kFast));
  const auto problem_with = [&](auto change) {
    for (std::size_t i = 0; i < log.records.size(); ++i) {
      auto changed = log;
      if (change(changed.records, i)) return replay(changed).first_problem;
    }
    return std::string("no place for it");
  };
  using Records = std::vector<event_log::Record>;
  EXPECT_NE(problem_with([](Records& records, std::size_t i) {
              const auto* chunk = std::get_if<event_log::Chunk>(&records[i].fact);
              if (chunk == nullptr) return false;
              const event_log::Grant grant{chunk->request, 0, 1, {}, 0};
              records.insert(records.begin() + static_cast<std::ptrdiff_t>(i), {grant, {}});
              return true;
            }).find("gets memory, but the run has no KV cache"),
            std::string::npos);
  EXPECT_NE(problem_with([](Records& records, std::size_t i) {
              auto* end = std::get_if<event_log::PassEnd>(&records[i].fact);
              return end != nullptr && (end->refused = true);
            }).find("an allocation failed in a run without a KV cache"),
            std::string::npos);
  EXPECT_NE(problem_with([](Records& records, std::size_t i) {
              const auto* token = std::get_if<event_log::FirstToken>(&records[i].fact);
              if (token == nullptr) return false;
              const event_log::Drop drop{token->request, 0, 1, 0, 0};
              records.insert(records.begin() + static_cast<std::ptrdiff_t>(i) + 1, {drop, {}});
              return true;
            }).find("evicts tokens in a run without a KV cache"),
            std::string::npos);
}

/// Checks that the situations for which the logs of SGLang's engine exist occur in them.
TEST(Replay, TreesAreUsedInEveryWay) {
  std::map<std::string, std::int64_t> met;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const LogCase& c : test::small_cases()) {
      if (!c.sglang) continue;
      const auto log = test::read_log(test::log_of_run(test::random_trace(seed), c, Stepping::kFast));
      EXPECT_EQ(log.header.tree, c.prefix_cache);
      std::int64_t settled = 0;
      std::map<RequestId, std::int64_t> in_tree;
      for (const event_log::Record& record : log.records) {
        if (const auto* f = std::get_if<event_log::Admit>(&record.fact)) {
          met["found"] += f->found_pages;
          met["found again"] += in_tree.count(f->request) > 0 ? f->found_pages : 0;
          in_tree[f->request] = f->found_pages * log.header.alloc_unit_tokens;
        }
        if (const auto* f = std::get_if<event_log::Settle>(&record.fact)) {
          settled += f->tokens - in_tree[f->request];
          in_tree[f->request] = f->tokens;
        }
        if (const auto* f = std::get_if<event_log::Reclaim>(&record.fact)) met["reclaimed"] += f->pages;
        if (std::holds_alternative<event_log::Preempt>(record.fact)) ++met["retracted"];
        if (const auto* f = std::get_if<event_log::PassEnd>(&record.fact))
          met["refused"] += f->refused ? 1 : 0;
      }
      EXPECT_GT(settled, c.prefix_cache ? 0 : -1) << c.name;
    }
  }
  for (const char* what : {"found", "found again", "reclaimed", "retracted", "refused"})
    EXPECT_GT(met[what], 10) << what;
}

TEST(Replay, EveryStateIsMet) {
  // A state that no replay ever holds would be compared as 0 with 0.
  std::map<std::string, std::int64_t> peaks;
  for (const LogCase& c : test::small_cases()) {
    const auto log = test::read_log(test::log_of_run(test::random_trace(1), c, Stepping::kFast));
    for (const auto& quantity : replay(log).quantities)
      peaks[quantity.name] = std::max(peaks[quantity.name], quantity.measured);
  }
  for (const char* state :
       {"metadata", "live", "reserved", "hole", "tail", "padding", "internal", "cached", "stranded", "free"})
    EXPECT_GT(peaks[std::string("peak_") + state + "_bytes"], 0) << state;
  EXPECT_GT(peaks["hit_cells"], 0);
}

TEST(Replay, FewerFullScansFindTheSame) {
  auto log =
      test::read_log(test::log_of_run(test::random_trace(7), test::small_cases().front(), Stepping::kFast));
  for (auto& record : log.records) record.claims.totals[3] += record.claims.has_totals ? 1 : 0;
  EXPECT_EQ(replay(log, 1).byte_mismatches, replay(log, 1000).byte_mismatches);
  EXPECT_LT(replay(log, 1000).full_scans, replay(log, 1).full_scans);
}

TEST(Replay, AHugeMemoryIsRefusedWithoutTakingIt) {
  auto log =
      test::read_log(test::log_of_run(test::random_trace(7), test::small_cases().front(), Stepping::kFast));
  log.header.alloc_units = event_log::kMostAllocUnits;
  log.header.capacity_bytes = event_log::kMostBytes;
  EXPECT_NE(replay(log).first_problem.find("expected a memory of at most 268435456 slots"),
            std::string::npos);
}

/// The victim is computed, not taken from the log: a victim that is possible in all other respects is reported as the
/// wrong one.
TEST(Replay, AnotherVictimIsFoundByTheRuleOfTheEngine) {
  std::map<std::string, int> found;
  for (const LogCase& c : test::small_cases()) {
    const auto log = test::read_log(test::log_of_run(test::random_trace(2), c, Stepping::kFast));
    const bool in_order = log.header.rules.prefills_apart || log.header.rules.by_priority;
    const std::string rule = in_order ? "must be preempted first" : "was not admitted last";
    // If requests drop tokens, the kept tokens of a victim are checked first.
    if (std::any_of(log.records.begin(), log.records.end(), [](const auto& record) {
          return record.claims.has_kept || record.claims.has_kept_cells;
        }))
      continue;
    const auto others = test::other_victims(log);
    for (std::size_t i = 0; i < others.size(); i += 1 + others.size() / 20) {
      auto changed = log;
      changed.records[others[i].first] = others[i].second;
      const Report report = replay(changed, 1000);
      EXPECT_NE(report.first_problem.find(rule), std::string::npos) << c.name << ": " << report.first_problem;
      ++found[rule];
    }
  }
  EXPECT_GT(found["was not admitted last"], 200);
  EXPECT_GE(found["must be preempted first"], 10);
}

/// The same runs in a memory of a few more blocks, which stay idle: nothing changes, except that a request is
/// preempted although there would be room.
TEST(Replay, AnUnneededPreemptionIsFound) {
  std::map<std::string, int> found;
  for (const LogCase& c : test::small_cases()) {
    auto log = test::read_log(test::log_of_run(test::random_trace(2), c, Stepping::kFast));
    const event_log::Header& header = log.header;
    if (!header.returns_alloc_units || !header.track_units.empty() || !header.groups.empty()) continue;
    constexpr std::int64_t kMore = 40;
    const std::int64_t bytes = kMore * header.alloc_unit_tokens * header.token_bytes;
    log.header.alloc_units += kMore;
    log.header.capacity_bytes += bytes;
    bool refused = false;
    for (auto& record : log.records) {
      if (const auto* pass = std::get_if<event_log::PassEnd>(&record.fact)) refused = pass->refused;
      if (record.claims.has_totals) record.claims.totals[refused ? 8 : 9] += bytes;
    }
    const std::string problem = replay(log, 1000).first_problem;
    if (problem.empty()) continue;
    const std::string rule = header.rules.prefills_apart ? "pages are available" : "is preempted, but ";
    EXPECT_NE(problem.find(rule), std::string::npos) << c.name << ": " << problem;
    ++found[rule];
  }
  EXPECT_GE(found["pages are available"], 1);
  EXPECT_GE(found["is preempted, but "], 3);
}

TEST(Replay, EveryMutationIsFound) {
  std::map<std::string, int> done;
  int found = 0;
  for (const LogCase& c : test::small_cases()) {
    for (std::uint64_t seed = 1; std::cmp_less_equal(seed, test::random_cases(3)); ++seed) {
      const auto log = test::read_log(test::log_of_run(test::random_trace(seed), c, Stepping::kFast));
      Random random(seed, c.name);
      for (const test::Mutation& mutation : test::mutations()) {
        auto changed = log;
        std::string what;
        if (!mutation.apply(changed, random, what)) continue;
        ++done[mutation.name];
        const bool noticed = !replay(changed, 64).clean() || !test::readable(changed);
        if (noticed) ++found;
        EXPECT_TRUE(noticed) << mutation.name << " (" << what << ") in " << c.name << ", seed " << seed;
      }
    }
  }
  for (const test::Mutation& mutation : test::mutations())
    EXPECT_GE(done[mutation.name], test::random_cases(3)) << mutation.name << " was hardly tried";
  std::printf("%d mutations were found\n", found);
}

}  // namespace
}  // namespace kvplan
