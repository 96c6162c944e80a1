// Answers in the prompts of later turns: which prompts hold one, and what engines find then.
#include "simulator/workload/answers.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "simulator/workload/workload_builder.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_trace.h"
#include "tests/support/whole_run.h"

namespace kvplan {
namespace {

using workload::AnswerRule;
using Ids = std::vector<std::uint32_t>;
using Tokens = std::vector<std::int32_t>;

/// A second apart.
struct Turn {
  std::int32_t input, output;
  Ids ids;
  std::int32_t session{0};
};

traces::Trace trace_of(const std::vector<Turn>& turns, std::int64_t block = 16) {
  traces::Trace trace;
  trace.prefix.block_tokens = block;
  if (block > 0) trace.prefix.offsets.push_back(0);
  for (const Turn& turn : turns) {
    trace.arrival_ns.push_back(trace.size() * 1'000'000'000);
    trace.input_tokens.push_back(turn.input);
    trace.output_tokens.push_back(turn.output);
    trace.session.push_back(turn.session);
    if (block == 0) continue;
    for (const std::uint32_t id : turn.ids) {
      trace.prefix.ids.push_back(id);
      trace.prefix.distinct = std::max(trace.prefix.distinct, std::int64_t{id} + 1);
    }
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
  }
  for (const char* name : {"a", "b", "c"}) trace.session_names.emplace_back(name);
  trace.digest = "0123456789abcdef";
  return trace;
}

struct Named {
  std::int64_t later_turns, held;
  Tokens tokens;         ///< named, by request
  std::vector<Ids> ids;  ///< by request
};

Named named(const traces::Trace& trace, AnswerRule rule) {
  core::Workload w = workload::build_workload(trace, {}, -1).value();
  const workload::AnswerCounts counts = workload::name_answers(trace, rule, 16, w).value();
  Named out{counts.later_turns, counts.held, w.named, {}};
  for (std::size_t r = 0; r < w.input.size() && w.prefix->present(); ++r)
    out.ids.emplace_back(w.prefix->ids.begin() + static_cast<std::ptrdiff_t>(w.prefix->offsets[r]),
                         w.prefix->ids.begin() + static_cast<std::ptrdiff_t>(w.prefix->offsets[r + 1]));
  return out;
}

std::int64_t hits(const traces::Trace& trace, const std::vector<std::string>& settings) {
  const auto result = runs::run_scenario(test::scenario_of(settings), trace, {});
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return result.ok() ? result.value().prefix_hit_tokens : -1;
}

/// A prompt of 100 tokens, an answer of 64, and a prompt of 200 that begins with both.
traces::Trace two_turns() {
  return trace_of({{100, 64, {0, 1, 2, 3, 4, 5, 6}}, {200, 10, {0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13}}});
}

TEST(Answers, AreFoundByTheNextTurnInEveryEngine) {
  const traces::Trace trace = two_turns();
  for (const char* engine : {"vllm-v1", "sglang"}) {
    SCOPED_TRACE(engine);
    std::vector<std::string> settings{"engine=" + std::string(engine), "memory.pool_tokens=4000",
                                      "memory.allocator=paged:block_tokens=16",
                                      "latency=affine:base_ns=1000000"};
    // The last token of the answer is never written: 163 tokens, ten blocks.
    EXPECT_EQ(hits(trace, settings), 160);
    for (const auto& [rule, found] : {std::pair{"auto", 160}, {"session", 160}, {"unknown", 96}}) {
      settings.push_back("workload.answers=" + std::string(rule));
      EXPECT_EQ(hits(trace, settings), found) << rule;
      EXPECT_EQ(test::outputs(test::scenario_of(settings), trace, true),
                test::outputs(test::scenario_of(settings), trace, false));
      settings.pop_back();
    }
  }
  EXPECT_EQ(
      hits(trace, {"engine=sglang", "memory.pool_tokens=4000", "memory.allocator=paged:block_tokens=1"}),
      163);
  EXPECT_EQ(hits(trace, {"model=gemma-3-27b", "workload.sessions=closed", "memory.pool_bytes=8000000000",
                         "memory.allocator=grouped:block_tokens=16"}),
            160);
}

TEST(Answers, TheReportSaysTheShareOfPrompts) {
  const auto result = runs::run_scenario(test::scenario_of({"memory.pool_tokens=4000"}), two_turns(), {});
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  const std::string json = runs::report_json(result.value());
  EXPECT_NE(
      json.find("1 of 1 prompts of later turns (100.0 %; 50.0 % of all prompts) hold the answer before them, "
                "and the prefix cache finds it (workload.answers=auto)."),
      std::string::npos)
      << json;
  ASSERT_TRUE(result.value().answers);
  EXPECT_EQ(result.value().answers->held, 1);
  EXPECT_EQ(result.value().answers->requests, 2);
}

TEST(Answers, GetTheIdsOfThePromptThatHoldsThem) {
  const Named found = named(two_turns(), AnswerRule::kAuto);
  EXPECT_EQ(found.later_turns, 1);
  EXPECT_EQ(found.held, 1);
  EXPECT_EQ(found.tokens, (Tokens{164, 200}));
  EXPECT_EQ(found.ids[0], (Ids{0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11}));
  EXPECT_EQ(named(two_turns(), AnswerRule::kUnknown).tokens, Tokens{});
}

TEST(Answers, AreNotInPromptsThatAreTooShortOrSayOtherwise) {
  const Turn first{20, 20, {0, 1}};
  // One token too short; then another beginning, though it is long enough; then another session.
  EXPECT_EQ(named(trace_of({first, {39, 5, {0, 2, 3}}}), AnswerRule::kAuto).held, 0);
  EXPECT_EQ(named(trace_of({first, {40, 5, {0, 2, 3}}}), AnswerRule::kAuto).held, 1);
  EXPECT_EQ(named(trace_of({first, {40, 5, {2, 3, 4}}}), AnswerRule::kAuto).held, 0);
  EXPECT_EQ(named(trace_of({first, {40, 5, {0, 2, 3}, 1}}), AnswerRule::kAuto).held, 0);
  // What was there before the answer cannot hold it: the third prompt goes on as that of another session did.
  const Turn other{64, 5, {0, 1, 2, 3}, 1};
  EXPECT_EQ(named(trace_of({other, {20, 9, {0, 4}}, {64, 5, {0, 1, 2, 3}}}), AnswerRule::kAuto).held, 0);
  // session: as much as there is of it, and whether the ids are new or not.
  const Named cut = named(trace_of({first, {30, 5, {0, 2}}}), AnswerRule::kSession);
  EXPECT_EQ(cut.tokens, (Tokens{30, 30}));
  EXPECT_EQ(cut.ids[0], (Ids{0, 2}));
  EXPECT_EQ(named(trace_of({first, {20, 5, {0, 1}}}), AnswerRule::kSession).held, 0);
}

TEST(Answers, OfTheTurnWithTheLongestBeginning) {
  // A short call of the same session lies between; it begins no later prompt.
  const Named found =
      named(trace_of({{40, 8, {0, 1, 2}}, {10, 4, {3}}, {64, 8, {0, 1, 4, 5}}}), AnswerRule::kAuto);
  EXPECT_EQ(found.tokens, (Tokens{48, 10, 64}));
  EXPECT_EQ(found.held, 1);
  // Two prompts hold one answer: the first names it.
  const Named fork =
      named(trace_of({{16, 20, {0}}, {50, 4, {0, 1, 2, 3}}, {52, 4, {0, 1, 4, 5}}}), AnswerRule::kAuto);
  EXPECT_EQ(fork.held, 2);
  EXPECT_EQ(fork.ids[0], (Ids{0, 1, 2}));
}

TEST(Answers, ChainThroughTurnsThatEndInOneId) {
  // Three turns within one id of 64 tokens; the last prompt has no id for its end.
  const Named found =
      named(trace_of({{10, 5, {0}}, {20, 5, {1}}, {30, 5, {2}}, {70, 60, {3}}, {140, 5, {3, 4}}}, 64),
            AnswerRule::kAuto);
  EXPECT_EQ(found.tokens, (Tokens{15, 25, 35, 130, 140}));
  EXPECT_EQ(found.ids, (std::vector<Ids>{{3}, {3}, {3}, {3, 4, 5}, {3, 4, 5}}));
}

TEST(Answers, ChangeNothingForOthersWithTheSamePrompt) {
  // The third request has the prompt of the first, in another session: both have the id that is filled later.
  const Named found =
      named(trace_of({{20, 20, {0, 1}}, {50, 4, {0, 2, 3, 4}}, {20, 7, {0, 1}, 1}}), AnswerRule::kAuto);
  EXPECT_EQ(found.ids, (std::vector<Ids>{{0, 2, 3}, {0, 2, 3, 4}, {0, 2}}));
  EXPECT_EQ(found.tokens, (Tokens{40, 50, 20}));
}

TEST(Answers, WaitsSayTurnsToo) {
  traces::Trace trace = trace_of({{20, 20, {0, 1}}, {40, 5, {0, 2, 3}}});
  trace.session.clear();
  EXPECT_EQ(named(trace, AnswerRule::kAuto).held, 0);
  trace.waits = {{1}, {0}};
  EXPECT_EQ(named(trace, AnswerRule::kAuto).held, 1);
}

TEST(Answers, WithoutIdsOnlyWhereTheScenarioSaysSo) {
  const traces::Trace trace =
      trace_of({{100, 64, {}}, {200, 10, {}}, {300, 10, {}, 1}, {220, 30, {}}, {50, 3, {}, 2}}, 0);
  EXPECT_EQ(named(trace, AnswerRule::kAuto).held, 0);
  const Named found = named(trace, AnswerRule::kSession);
  EXPECT_EQ(found.held, 2);
  EXPECT_EQ(found.tokens, (Tokens{164, 210, 300, 220, 50}));
  const std::vector<std::string> settings{"memory.pool_tokens=4000", "latency=affine:base_ns=1000000"};
  EXPECT_EQ(hits(trace, settings), 0);
  // 163 and 209 tokens are written, in blocks of 16.
  EXPECT_EQ(hits(trace, {settings[0], settings[1], "workload.answers=session"}), 160 + 208);
  EXPECT_EQ(hits(trace, {settings[0], settings[1], "workload.answers=session", "engine=sglang",
                         "memory.allocator=paged:block_tokens=1"}),
            163 + 209);
}

/// A pool's block may be longer than what an id stands for.
TEST(Answers, AreFoundInBlocksThatAreLongerThanIds) {
  for (const auto& [block, found] :
       {std::pair{32, 160}, {48, 144}, {64, 128}, {24, 144}, {160, 160}, {176, 0}})
    EXPECT_EQ(hits(two_turns(), {"memory.pool_tokens=4000", "latency=affine:base_ns=1000000",
                                 "memory.allocator=paged:block_tokens=" + std::to_string(block)}),
              found)
        << block;
}

/// Sessions of random turns, most of which continue an earlier one.
traces::Trace random_sessions(Random& random) {
  const std::int64_t block = random.between(1, 3) * 8;
  std::vector<Turn> turns;
  std::uint32_t next = 0;
  for (std::int64_t i = random.between(2, 40); i > 0; --i) {
    Turn turn{static_cast<std::int32_t>(random.between(1, 90)),
              static_cast<std::int32_t>(random.between(1, 60)),
              {},
              static_cast<std::int32_t>(random.below(3))};
    if (!turns.empty() && random.chance(3, 4)) {
      const Turn& before = turns[turns.size() - 1 - random.below(std::min<std::size_t>(turns.size(), 3))];
      turn.session = before.session;
      turn.input =
          before.input + static_cast<std::int32_t>(random.chance(3, 4) ? before.output + random.between(0, 20)
                                                                       : random.between(0, 9));
      if (turn.input > 500) continue;
      turn.ids.assign(
          before.ids.begin(),
          before.ids.begin() + std::min<std::ptrdiff_t>(before.input / block, std::ssize(before.ids)));
    }
    const std::int64_t ids =
        random.chance(3, 4) ? ceil_div(std::int64_t{turn.input}, block) : turn.input / block;
    while (std::ssize(turn.ids) < ids) turn.ids.push_back(next++);
    turns.push_back(std::move(turn));
  }
  traces::Trace trace = trace_of(turns, block);
  trace.prefix.distinct = next;
  for (std::int64_t& arrival : trace.arrival_ns) arrival /= random.chance(1, 2) ? 1000 : 1'000'000;
  std::sort(trace.arrival_ns.begin(), trace.arrival_ns.end());
  return trace;
}

TEST(Answers, FastEqualsNaiveOnRandomSessions) {
  constexpr std::array<const char*, 2> kEngines{"vllm-v1", "sglang"};
  constexpr std::array<const char*, 2> kRules{"auto", "session"};
  std::int64_t held = 0, more = 0, fewer = 0;
  for (std::int64_t seed = 0; seed < test::random_cases(300, 100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed), "random sessions");
    const traces::Trace trace = random_sessions(random);
    const std::string engine = kEngines[random.below(2)];
    const std::int64_t block =
        engine == "vllm-v1" && random.chance(1, 3) ? 40 : std::int64_t{1} << random.below(4);
    std::vector<std::string> settings{
        "engine=" + engine,
        "memory.allocator=paged:block_tokens=" + std::to_string(block),
        "memory.pool_tokens=" + std::to_string(random.between(600, 1500)),
        "latency=affine:base_ns=1000000,token_ns=10000",
        "workload.sessions=" + std::string(random.chance(1, 2) ? "closed" : "open"),
        "fleet.replicas=" + std::to_string(random.chance(1, 4) ? 2 : 1)};
    const std::int64_t without = [&] {
      auto unknown = settings;
      unknown.emplace_back("workload.answers=unknown");
      return hits(trace, unknown);
    }();
    settings.push_back("workload.answers=" + std::string(kRules[random.below(2)]));
    const runs::Scenario scenario = test::scenario_of(settings);
    ASSERT_EQ(test::outputs(scenario, trace, false), test::outputs(scenario, trace, true));
    const auto result = runs::run_scenario(scenario, trace, {});
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    if (result.value().answers) held += result.value().answers->held;
    more += result.value().prefix_hit_tokens > without ? 1 : 0;
    fewer += result.value().prefix_hit_tokens < without ? 1 : 0;
  }
  EXPECT_GT(held, 200);
  EXPECT_GT(more, 20);
  EXPECT_LT(fewer, more / 3) << "only where the pool is short, or two answers begin in one id";
}

}  // namespace
}  // namespace kvplan
