// What synthetic prompts share, compared with a model that writes out every token.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "simulator/base/random.h"
#include "tests/unit/traces/synth_support.h"
#include "traces/record/statistics.h"
#include "traces/record/turns.h"

namespace kvplan::traces {
namespace {

using testing::synth;
using testing::synth_error;

/// Numbers, by first appearance, for the tokens up to the end of each full block.
class NaiveIds {
 public:
  std::vector<std::uint32_t> of(const std::vector<std::int64_t>& prompt, std::int64_t block) {
    std::vector<std::uint32_t> out;
    std::vector<std::int64_t> chain;
    for (std::size_t end = static_cast<std::size_t>(block); end <= prompt.size();
         end += static_cast<std::size_t>(block)) {
      chain.assign(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(end));
      out.push_back(numbers_.emplace(chain, static_cast<std::uint32_t>(numbers_.size())).first->second);
    }
    return out;
  }
  [[nodiscard]] std::int64_t distinct() const { return static_cast<std::int64_t>(numbers_.size()); }

 private:
  std::map<std::vector<std::int64_t>, std::uint32_t> numbers_;
};

/// The tokens of each prompt, from the trace's sessions, groups and lengths; checks the lengths on the way.
class NaivePrompts {
 public:
  NaivePrompts(const Trace& trace, std::int64_t shared_tokens, bool remembers)
      : trace_(trace), shared_tokens_(shared_tokens), remembers_(remembers) {}

  std::vector<std::int64_t> of(std::size_t row) {
    const auto session = trace_.session.empty() ? static_cast<std::int64_t>(row) : trace_.session[row];
    const auto found = history_.find(session);
    std::vector<std::int64_t> prompt;
    if (remembers_ && found != history_.end()) {
      prompt = found->second;
    } else if (!trace_.tenant.empty()) {
      const std::string& name = trace_.tenant_names[static_cast<std::size_t>(trace_.tenant[row])];
      const std::int64_t group = std::stoll(name.substr(name.find('-') + 1));
      for (std::int64_t i = 0; i < std::min<std::int64_t>(shared_tokens_, trace_.input_tokens[row]); ++i)
        prompt.push_back(-1 - group * 1'000'000 - i);
    }
    EXPECT_GE(trace_.input_tokens[row], static_cast<std::int64_t>(prompt.size()))
        << "all that was before, and more";
    grow(prompt, static_cast<std::size_t>(trace_.input_tokens[row]));
    std::vector<std::int64_t>& history = history_[session];
    history = prompt;
    grow(history, history.size() + static_cast<std::size_t>(trace_.output_tokens[row]));
    return prompt;
  }

 private:
  void grow(std::vector<std::int64_t>& tokens, std::size_t size) {
    while (tokens.size() < size) tokens.push_back(fresh_++);
  }
  const Trace& trace_;
  std::int64_t shared_tokens_;
  bool remembers_;
  std::map<std::int64_t, std::vector<std::int64_t>> history_;
  std::int64_t fresh_{0};
};

void expect_naive_ids(const Trace& trace, std::int64_t block, std::int64_t shared_tokens,
                      bool remembers = true) {
  NaiveIds naive;
  NaivePrompts prompts(trace, shared_tokens, remembers);
  bool part_filled = false;
  ASSERT_EQ(trace.prefix.offsets.size(), trace.arrival_ns.size() + 1);
  for (std::size_t row = 0; row < trace.arrival_ns.size(); ++row) {
    const std::vector<std::uint32_t> ids(
        trace.prefix.ids.begin() + static_cast<std::ptrdiff_t>(trace.prefix.offsets[row]),
        trace.prefix.ids.begin() + static_cast<std::ptrdiff_t>(trace.prefix.offsets[row + 1]));
    ASSERT_EQ(ids, naive.of(prompts.of(row), block)) << "request " << row;
    part_filled = part_filled || trace.input_tokens[row] % block != 0;
  }
  EXPECT_EQ(trace.prefix.distinct, naive.distinct());
  EXPECT_EQ(trace.prefix.last_may_be_partial, !part_filled);
}

TEST(SynthContent, IsThatOfTheNaiveModelForRandomParts) {
  Random random(1, "content");
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const std::int64_t block = std::array<std::int64_t, 4>{1, 4, 7, 16}[random.below(4)];
    const std::int64_t tokens = random.between(1, 60);
    const bool groups = random.chance(3, 4);
    const bool sessions = !groups || random.chance(2, 3);
    SynthOptions options{.arrivals = "poisson:rate_per_s=2",
                         .lengths = "uniform:input_max=" + std::to_string(random.between(1, 80)) +
                                    ",output_max=" + std::to_string(random.between(1, 40)),
                         .requests = random.between(1, 120),
                         .seed = random.next(),
                         .block_tokens = block};
    if (groups)
      options.prefixes = "groups:groups=" + std::to_string(random.between(1, 6)) +
                         ",tokens=" + std::to_string(tokens) +
                         ",length=" + (random.chance(1, 2) ? "added" : "included");
    if (sessions)
      options.turns = "sessions:turns=" + std::to_string(random.between(1, 6)) +
                      ",count=" + (random.chance(1, 2) ? "fixed" : "geometric") +
                      ",context=" + std::to_string(random.between(1, 500));
    const bool repeat = sessions && random.chance(1, 3);
    if (repeat) options.turns = "repeat:requests=" + std::to_string(random.between(1, 6));
    SCOPED_TRACE(options.prefixes + " " + options.turns + " " + options.lengths);
    const Trace trace = synth(options);
    ASSERT_EQ(trace.size(), options.requests);
    EXPECT_TRUE(std::is_sorted(trace.arrival_ns.begin(), trace.arrival_ns.end()));
    ASSERT_NO_FATAL_FAILURE(expect_naive_ids(trace, block, tokens, !repeat));
  }
}

TEST(SynthContent, ClientsWaitForTheirOwnAnswers) {
  const Trace trace = synth({.arrivals = "at-once:clients=3",
                             .lengths = "fixed:input=40,output=10",
                             .turns = "repeat:requests=4,think_s=0.5,token_s=0.1"});
  ASSERT_EQ(trace.size(), 12);
  // A client sends at 0, 1.5, 3.0 and 4.5 s; clients take turns in the list.
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(trace.arrival_ns[i], static_cast<std::int64_t>(i / 3) * 1'500'000'000);
    EXPECT_EQ(trace.think_ns[i], i < 3 ? -1 : 500'000'000);
  }
  EXPECT_EQ(trace.waits.request, (std::vector<std::int32_t>{3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(trace.waits.before, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  // Two whole blocks of 16 a prompt, and none is shared.
  EXPECT_EQ(trace.prefix.distinct, 24);
}

TEST(SynthContent, ASharedPromptHitsAsTold) {
  // 8 groups of 1,000 tokens: 62 full blocks of 16. The first request of each group hits nothing, all others hit 62.
  const Trace trace = synth({.arrivals = "poisson:rate_per_s=5",
                             .lengths = "fixed:input=200,output=5",
                             .prefixes = "groups:groups=8,tokens=1000,zipf=0",
                             .requests = 1000});
  EXPECT_EQ(*std::min_element(trace.input_tokens.begin(), trace.input_tokens.end()), 1200);
  const Statistics found = compute_statistics(trace);
  ASSERT_TRUE(found.prefix);
  EXPECT_EQ(found.prefix->references, 75'000);
  EXPECT_EQ(found.prefix->distinct, 8 * 62 + 13 * 1000);
  EXPECT_DOUBLE_EQ(found.prefix->infinite_hit_blocks.value(), 992 * 62 / 75'000.0);
  EXPECT_DOUBLE_EQ(found.prefix->infinite_hit_tokens.value(), 992 * 992 / 1'200'000.0);
}

TEST(SynthContent, GroupsAreAsPopularAsZipfSays) {
  const Trace trace = synth({.arrivals = "poisson:rate_per_s=5",
                             .lengths = "fixed:input=20,output=5",
                             .prefixes = "groups:groups=10,tokens=16,zipf=1",
                             .requests = 100'000});
  std::map<std::string, double> seen;
  for (const std::int32_t tenant : trace.tenant) ++seen[trace.tenant_names[static_cast<std::size_t>(tenant)]];
  double sum = 0;
  for (int k = 1; k <= 10; ++k) sum += 1.0 / k;
  ASSERT_EQ(seen.size(), 10U);
  for (int k = 1; k <= 10; ++k) {
    const double expected = 1e5 / (k * sum);
    EXPECT_NEAR(seen["group-" + std::to_string(k - 1)], expected, 5 * std::sqrt(expected)) << k;
  }
}

TEST(SynthContent, TurnsHitTheWholeHistory) {
  const Trace trace = synth({.arrivals = "constant:rate_per_s=1",
                             .lengths = "fixed:input=20,output=12",
                             .turns = "sessions:turns=3,count=fixed,think_s=0,token_s=0.5",
                             .requests = 9,
                             .block_tokens = 8});
  // Turns are 6 s apart: sessions begin at 0, 1, 2, ..., and the first one continues at 6 and 12, before the sessions
  // that begin then.
  EXPECT_EQ(trace.arrival_ns,
            (std::vector<std::int64_t>{0, 1'000'000'000, 2'000'000'000, 3'000'000'000, 4'000'000'000,
                                       5'000'000'000, 6'000'000'000, 6'000'000'000, 7'000'000'000}));
  EXPECT_EQ(trace.session, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 0, 6, 1}));
  EXPECT_EQ(trace.session_names.back(), "session-6");
  EXPECT_EQ(trace.waits.request, (std::vector<std::int32_t>{6, 8}));
  EXPECT_EQ(trace.waits.before, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(trace.think_ns, (std::vector<std::int64_t>{-1, -1, -1, -1, -1, -1, 0, -1, 0}));
  EXPECT_EQ(trace.input_tokens, (std::vector<std::int32_t>{20, 20, 20, 20, 20, 20, 52, 20, 52}));
  // The second turn of session 0: two known blocks of the first prompt, four new ones of answer and question.
  EXPECT_EQ((std::vector<std::uint32_t>{trace.prefix.ids.begin() + 12, trace.prefix.ids.begin() + 18}),
            (std::vector<std::uint32_t>{0, 1, 12, 13, 14, 15}));
  ASSERT_NO_FATAL_FAILURE(expect_naive_ids(trace, 8, 0));
}

/// Over several pieces: every turn except the first of its session waits for the one before, and comes later by the
/// duration of that answer and by the pause.
TEST(SynthContent, LaterTurnsWaitForTheOneBefore) {
  const Trace trace = synth({.arrivals = "poisson:rate_per_s=100",
                             .lengths = "uniform:input_max=20,output_max=50",
                             .turns = "sessions:turns=4,think_s=10,token_s=0.03125",
                             .requests = 150'000});
  std::map<std::int32_t, std::int32_t> latest;  // by session
  std::size_t wait = 0;
  double pauses_s = 0;
  for (std::int32_t r = 0; r < 150'000; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const auto [before, first] = latest.try_emplace(trace.session[i], r);
    if (first) {
      ASSERT_EQ(trace.think_ns[i], -1);
      continue;
    }
    ASSERT_LT(wait, trace.waits.size());
    ASSERT_EQ(trace.waits.request[wait], r);
    ASSERT_EQ(trace.waits.before[wait], before->second);
    ++wait;
    const auto b = static_cast<std::size_t>(before->second);
    const std::int64_t answer_ns = std::int64_t{31'250'000} * trace.output_tokens[b];
    ASSERT_NEAR(static_cast<double>(trace.arrival_ns[i] - trace.arrival_ns[b] - answer_ns),
                static_cast<double>(trace.think_ns[i]), 1);
    pauses_s += 1e-9 * static_cast<double>(trace.think_ns[i]);
    before->second = r;
  }
  EXPECT_EQ(wait, trace.waits.size());
  EXPECT_GT(wait, 100'000U);
  // The trace ends before the longest pauses are over.
  EXPECT_NEAR(pauses_s / static_cast<double>(wait), 10, 0.5);
  EXPECT_EQ(turns_of(trace.waits, trace.size()).value().present(), true);
}

TEST(SynthContent, SessionsHaveAsManyTurnsAsTold) {
  const Trace trace = synth({.arrivals = "poisson:rate_per_s=10",
                             .lengths = "fixed:input=5,output=2",
                             .turns = "sessions:turns=4,think_s=1,token_s=0",
                             .duration_ns = 20'000 * kNsPerSecond});
  std::map<std::int32_t, int> turns;
  std::map<std::int32_t, std::int64_t> last;
  std::vector<double> pauses;
  for (std::size_t i = 0; i < trace.session.size(); ++i) {
    if (turns[trace.session[i]]++ > 0)
      pauses.push_back(static_cast<double>(trace.arrival_ns[i] - last[trace.session[i]]) / 1e9);
    last[trace.session[i]] = trace.arrival_ns[i];
  }
  // Geometric with mean 4: P(more than k) = 0.75^k. Sessions that were cut at the end are few.
  std::vector<double> at_least(12, 0);
  for (const auto& [session, count] : turns)
    for (int k = 0; k < std::min(count, 12); ++k) ++at_least[static_cast<std::size_t>(k)];
  for (std::size_t k = 0; k < 12; ++k)
    EXPECT_NEAR(at_least[k] / static_cast<double>(turns.size()), std::pow(0.75, static_cast<double>(k)),
                0.006)
        << k;
  EXPECT_LT(testing::ks_distance(pauses, [](double x) { return 1 - std::exp(-x); }), testing::kKsBound);
}

TEST(SynthContent, ASessionEndsBeforeItsContextIsTooLong) {
  const Trace trace = synth({.arrivals = "constant:rate_per_s=1",
                             .lengths = "fixed:input=20,output=12",
                             .turns = "sessions:turns=10000,count=fixed,context=96,think_s=1",
                             .requests = 3000});
  std::map<std::int32_t, int> turns;
  for (const std::int32_t session : trace.session) ++turns[session];
  EXPECT_EQ(*std::max_element(trace.input_tokens.begin(), trace.input_tokens.end()), 84);
  EXPECT_EQ(turns[0], 3) << "32 tokens a turn: 96 after the third";
}

TEST(Synth, TheFirstRequestsOfALongerTraceAreThoseOfAShorterOne) {
  const SynthOptions options{.arrivals = "gamma:rate_per_s=3,cv=2",
                             .lengths = "lognormal:input_mean=50,output_mean=20",
                             .prefixes = "groups:groups=5,tokens=40",
                             .turns = "sessions:turns=3",
                             .requests = 70'000,
                             .seed = 12};
  const Trace whole = synth(options);
  for (const std::int64_t count : {1, 1000, 65'536}) {
    SynthOptions fewer = options;
    fewer.requests = count;
    const Trace part = synth(fewer);
    ASSERT_EQ(part.size(), count);
    const auto is_beginning = [&](const auto& a, const auto& b) {
      ASSERT_LE(a.size(), b.size());
      EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
    };
    is_beginning(part.arrival_ns, whole.arrival_ns);
    is_beginning(part.input_tokens, whole.input_tokens);
    is_beginning(part.output_tokens, whole.output_tokens);
    is_beginning(part.session, whole.session);
    is_beginning(part.tenant, whole.tenant);
    is_beginning(part.prefix.ids, whole.prefix.ids);
    is_beginning(part.prefix.offsets, whole.prefix.offsets);
  }
  SynthOptions timed = options;
  timed.duration_ns = 500 * kNsPerSecond;
  const Trace part = synth(timed);
  const auto before = std::lower_bound(whole.arrival_ns.begin(), whole.arrival_ns.end(), timed.duration_ns) -
                      whole.arrival_ns.begin();
  EXPECT_EQ(part.size(), before);
}

TEST(Synth, LimitsAreErrors) {
  EXPECT_EQ(synth_error({.arrivals = "constant:rate_per_s=1000000000",
                         .lengths = "fixed:input=1,output=1",
                         .turns = "sessions:turns=2,count=fixed,think_s=10000000",
                         .requests = 3'000'000}),
            "--turns: more than 1048576 sessions are open at once: expected fewer turns, shorter pauses or a "
            "lower rate");
  EXPECT_EQ(synth_error({.arrivals = "constant:rate_per_s=1",
                         .lengths = "fixed:input=2097153,output=1",
                         .prefixes = "groups:tokens=1,length=included",
                         .requests = 1,
                         .block_tokens = 1}),
            "--block: a prompt of 2097153 tokens has more than 2097152 blocks of 1 tokens");
  EXPECT_EQ(synth_error({.arrivals = "constant:rate_per_s=1",
                         .lengths = "fixed:input=2097152,output=1",
                         .prefixes = "groups:tokens=2097152,length=included",
                         .requests = 2,
                         .block_tokens = 1}),
            "no error");
  const testing::TemporaryFolder folder;
  testing::write_file(folder.file("l.csv"), "num_prefill_tokens,num_decode_tokens\n2147483647,2147483647\n");
  const std::string file = "empirical:file=" + folder.file("l.csv");
  EXPECT_EQ(synth_error({.arrivals = "constant:rate_per_s=1",
                         .lengths = file,
                         .prefixes = "groups:tokens=1",
                         .requests = 1,
                         .block_tokens = 4096}),
            "a prompt of 2147483648 tokens is longer than 2147483647");
  EXPECT_EQ(synth_error({.arrivals = "constant:rate_per_s=1",
                         .lengths = file,
                         .turns = "sessions:turns=9,count=fixed,token_s=100",
                         .requests = 2,
                         .block_tokens = 4096}),
            "no error")
      << "such a session has no second turn within its context";
  EXPECT_EQ(
      synth_error({.arrivals = "trace:file=" + std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/chat.kvt",
                   .turns = "sessions:turns=2"}),
      "--lengths: expected lengths that can be drawn for every turn; these lengths exist once per arrival");
}

TEST(Synth, TracesAreWellFormedAndSurviveConversion) {
  const testing::TemporaryFolder folder;
  const std::string kvt = folder.file("a.kvt");
  const auto made = testing::run_kvplan(
      "trace synth --arrivals poisson:rate_per_s=9 --lengths uniform:input_max=90,output_max=30 --prefixes "
      "groups:groups=4,tokens=50 --turns sessions:turns=3 --requests 70000 --seed 5 --block 8 -o " +
      kvt);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Result<Trace> read = open_trace(kvt);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  testing::expect_same(read.value(), synth({.arrivals = "poisson:rate_per_s=9",
                                            .lengths = "uniform:input_max=90,output_max=30",
                                            .prefixes = "groups:groups=4,tokens=50",
                                            .turns = "sessions:turns=3",
                                            .requests = 70'000,
                                            .seed = 5,
                                            .block_tokens = 8}));
  ASSERT_NO_FATAL_FAILURE(testing::run_kvplan("trace convert " + kvt + " -o " + folder.file("b.jsonl")));
  const Result<Trace> again =
      open_trace(folder.file("b.jsonl"), {.format = {}, .map = {}, .block_tokens = 8});
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(again.value().prefix.ids, read.value().prefix.ids);
  EXPECT_EQ(again.value().prefix.last_may_be_partial, read.value().prefix.last_may_be_partial);
  EXPECT_EQ(again.value().session, read.value().session);
}

}  // namespace
}  // namespace kvplan::traces
