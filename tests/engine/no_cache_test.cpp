// Serving without a KV cache: the work of steps, by formula; that memory is never held; fast runs compared with naive
// ones; and that settings about cached memory are refused.
#include <gtest/gtest.h>

#include "simulator/results/report.h"
#include "tests/support/observed_run.h"

namespace kvplan {
namespace {

using test::RandomCase;

/// A case without a cache, of `requests` (prompt, output) that arrive at once.
RandomCase without_cache(const std::vector<std::pair<std::int32_t, std::int32_t>>& requests,
                         const std::string& latency) {
  RandomCase c;
  for (const auto& [input, output] : requests) {
    c.workload.order.push_back(id_at<RequestId>(c.workload.input.size()));
    c.workload.arrival.push_back(SimTime{});
    c.workload.input.push_back(input);
    c.workload.output.push_back(output);
  }
  c.allocator = "no-cache";
  c.pool.bytes = 1001;
  c.prefix_cache = false;
  const Choice choice = parse_component(latency, "latency", latency::latency_descriptors()).value();
  const auto& shape = *model::find_model("llama-2-7b").value();
  c.latency = latency::latency_entry(choice).make(choice, latency::LatencyRequest::one_rank(shape)).value();
  return c;
}

/// The load of every single step, from the reported series; and the end of each request.
class Steps final : public core::Observer {
 public:
  explicit Steps(const observe::Ledger& ledger) : ledger_(ledger) {}
  void on_steps(const core::Steps& steps) override {
    core::StepLoad load = steps.pass.load;
    core::LoadGrowth growth = steps.pass.growth;
    for (std::int64_t k = 0; k < steps.series.steps; ++k) {
      loads.push_back(load);
      durations.push_back(steps.series.duration(k));
      load.tokens += growth.tokens;
      load.context_tokens += growth.context_tokens;
      load.attention_pairs += growth.attention_pairs;
      growth.attention_pairs += growth.pairs_growth;
    }
    runs += steps.series.steps > 1 ? 1 : 0;
  }
  void on_pass_end(const core::Pass& pass) override { held(pass.pool, pass.refused); }
  void on_settled(SimTime /*time*/, const core::PoolCounts& pool) override { held(pool, false); }
  void on_grant(const core::Grant& /*grant*/) override { ++grants; }

  std::vector<core::StepLoad> loads;
  std::vector<Ticks> durations;
  std::int64_t runs{0}, grants{0};

 private:
  void held(const core::PoolCounts& pool, bool refused) {
    EXPECT_EQ(pool.held, 0);
    EXPECT_FALSE(refused);
    const observe::StateCounts bytes = ledger_.bytes();
    for (std::size_t s = 0; s < observe::kStates; ++s)
      EXPECT_EQ(bytes[s], s == index(observe::State::kFree) ? ledger_.layout().capacity_bytes : 0);
  }
  const observe::Ledger& ledger_;
};

struct Seen {
  std::string text;
  std::vector<core::StepLoad> loads;
  std::vector<Ticks> durations;
  std::int64_t runs{0};
};

Seen see(const RandomCase& c, bool naive) {
  std::unique_ptr<Steps> steps;
  Seen seen;
  seen.text = test::observe_run(c, naive, nullptr, nullptr,
                                [&](const core::MemoryLayout& /*layout*/,
                                    const observe::Ledger& ledger) -> std::vector<core::Observer*> {
                                  steps = std::make_unique<Steps>(ledger);
                                  return {steps.get()};
                                });
  EXPECT_EQ(steps->grants, 0);
  return {seen.text, steps->loads, steps->durations, steps->runs};
}

/// The load of a step when requests have these numbers of tokens.
core::StepLoad load_of(const std::vector<std::int64_t>& tokens) {
  core::StepLoad load;
  for (const std::int64_t n : tokens) {
    ++load.requests;
    load.tokens += n;
    for (std::int64_t query = 1; query <= n; ++query) load.attention_pairs += query;
  }
  return load;
}

void expect_loads(const std::vector<core::StepLoad>& found,
                  const std::vector<std::vector<std::int64_t>>& tokens) {
  ASSERT_EQ(found.size(), tokens.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const core::StepLoad expected = load_of(tokens[i]);
    EXPECT_EQ(found[i].requests, expected.requests) << "step " << i;
    EXPECT_EQ(found[i].tokens, expected.tokens) << "step " << i;
    EXPECT_EQ(found[i].context_tokens, 0) << "step " << i;
    EXPECT_EQ(found[i].attention_pairs, expected.attention_pairs) << "step " << i;
  }
}

TEST(NoCache, EveryStepComputesEverythingAgain) {
  const RandomCase c = without_cache({{5, 3}, {2, 5}}, "affine:base_ns=10,token_ns=1,context_ns=1000");
  for (const bool naive : {true, false}) {
    const Seen seen = see(c, naive);
    expect_loads(seen.loads, {{5, 2}, {6, 3}, {7, 4}, {5}, {6}});
    std::vector<std::int64_t> ns;
    for (const Ticks t : seen.durations) ns.push_back(t.count / kTicksPerNs);
    // 10 plus one for each token; nothing is read.
    EXPECT_EQ(ns, (std::vector<std::int64_t>{17, 19, 21, 15, 16}));
    EXPECT_EQ(seen.runs, naive ? 0 : 2) << "steps with times in a series are reported at once";
  }
}

TEST(NoCache, APromptIsWholeWhateverTheBudget) {
  RandomCase c = without_cache({{3, 2}, {50, 2}, {4, 2}}, "affine");
  c.scheduler.token_budget = 8;
  c.scheduler.long_prefill_threshold = 2;  // has no effect here
  for (const bool naive : {true, false}) {
    // 3 of 8 are used; the second takes the rest and more; the third comes in the next pass, with two decoding.
    expect_loads(see(c, naive).loads, {{3, 50}, {4, 51, 4}, {5}});
  }
}

/// Two requests in a batch, prompts of 1000 and 10: by hand from the roofline's formula in docs/equations.md.
TEST(NoCache, AttentionIsChargedByPairs) {
  const RandomCase c =
      without_cache({{1000, 2}, {10, 2}}, "roofline:overhead_ns=0,flops=1e12,bandwidth=1e15");
  const double weights = 6738415616.0 - 32000.0 * 4096;
  const auto ns = [&](double tokens, double pairs) {
    return (2 * weights * tokens + 4.0 * 32 * 128 * 32 * pairs) / (1e12 * 0.6) * 1e9;
  };
  for (const bool naive : {true, false}) {
    const Seen seen = see(c, naive);
    ASSERT_EQ(seen.durations.size(), 2U);
    const double first = ns(1010, 1000.0 * 1001 / 2 + 10.0 * 11 / 2);
    const double second = ns(1012, 1001.0 * 1002 / 2 + 11.0 * 12 / 2);
    EXPECT_NEAR(static_cast<double>(seen.durations[0].count) / kTicksPerNs / first, 1, 1e-6);
    EXPECT_NEAR(static_cast<double>(seen.durations[1].count) / kTicksPerNs / second, 1, 1e-6);
  }
}

TEST(NoCache, FastEqualsNaive) {
  test::Coverage coverage;
  std::int64_t runs = 0, single = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const auto c = test::draw_case(seed);
    c->allocator = "no-cache";
    c->pool = {.bytes = static_cast<std::int64_t>(seed)};
    c->prefix_cache = false;
    c->workload.prefix = nullptr;
    c->keep = {};
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_EQ(test::observe_run(*c, true), test::observe_run(*c, false, nullptr, &coverage));
    const Seen naive = see(*c, true), fast = see(*c, false);
    ASSERT_EQ(naive.loads.size(), fast.loads.size());
    for (std::size_t i = 0; i < naive.loads.size(); ++i) {
      ASSERT_EQ(naive.loads[i].tokens, fast.loads[i].tokens) << i;
      ASSERT_EQ(naive.loads[i].attention_pairs, fast.loads[i].attention_pairs) << i;
      ASSERT_EQ(naive.durations[i], fast.durations[i]) << i;
    }
    (fast.runs > 0 ? runs : single) += 1;
  }
  EXPECT_GT(coverage.in_runs, 1000);
  EXPECT_GT(coverage.rejected, 100);
  EXPECT_EQ(coverage.preempted + coverage.refused, 0);
  EXPECT_GT(runs, 300);
  EXPECT_GT(single, 10) << "where computing bends, steps are told one by one";
}

TEST(NoCache, MorePairsThanFitAreCut) {
  core::StepLoad load;
  const Wide longest = Wide{1} << 31;
  load.add_pairs(core::StepLoad::pairs(0, longest));
  EXPECT_EQ(load.attention_pairs, (std::int64_t{1} << 61) + (std::int64_t{1} << 30));
  load.add_pairs(core::StepLoad::pairs(0, longest));
  EXPECT_EQ(load.attention_pairs, core::kMostAttentionPairs);
  load.add_pairs(core::StepLoad::pairs(longest, longest));
  EXPECT_EQ(load.attention_pairs, core::kMostAttentionPairs);
}

// ---- runs ----

traces::Trace small_trace() {
  traces::Trace trace;
  for (std::int32_t i = 0; i < 40; ++i) {
    trace.arrival_ns.push_back(i * 50'000'000LL);
    trace.input_tokens.push_back(20 + 13 * i % 300);
    trace.output_tokens.push_back(1 + 7 * i % 60);
  }
  return trace;
}

Result<runs::RunResult> run(const std::vector<std::string>& sets, bool step_by_step = false) {
  std::vector<runs::Setting> settings{runs::parse_setting("model=llama-2-7b").value()};
  for (const std::string& text : sets) settings.push_back(runs::parse_setting(text).value());
  auto scenario = runs::resolve(settings);
  if (!scenario.ok()) return scenario.error();
  runs::RunOptions options;
  options.step_by_step = step_by_step;
  return runs::run_scenario(scenario.value(), small_trace(), options);
}

TEST(NoCache, TheReportSaysWhatWasComputed) {
  const auto result = run({"memory.allocator=no-cache", "memory.pool_bytes=1000000000"});
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  const runs::RunResult& r = result.value();
  const traces::Trace trace = small_trace();
  std::int64_t computed = 0, once = 0;
  for (std::size_t i = 0; i < trace.input_tokens.size(); ++i) {
    std::int64_t of_request = 0;
    for (std::int64_t out = 0; out < trace.output_tokens[i]; ++out) of_request += trace.input_tokens[i] + out;
    EXPECT_EQ(r.records[i].computed_tokens, of_request);
    computed += of_request;
    once += trace.input_tokens[i] + trace.output_tokens[i] - 1;
  }
  EXPECT_EQ(r.computed_tokens, computed);
  EXPECT_EQ(r.recomputed_tokens, computed - once);
  EXPECT_EQ(r.preemptions + r.prefix_hit_tokens + r.rehit_tokens, 0);
  ASSERT_TRUE(r.memory);
  EXPECT_EQ(r.memory->peak_bytes[index(observe::State::kFree)], 1'000'000'000);
  EXPECT_EQ(r.memory->mean_fraction[index(observe::State::kFree)], 1);
  EXPECT_EQ(
      runs::report_json(r),
      runs::report_json(run({"memory.allocator=no-cache", "memory.pool_bytes=1000000000"}, true).value()));
  const auto cached = run({"memory.pool_bytes=20000000000"});
  ASSERT_TRUE(cached.ok());
  EXPECT_EQ(cached.value().computed_tokens, once);
}

TEST(NoCache, WhatNeedsACacheIsRefused) {
  const auto error = [](const std::vector<std::string>& sets) {
    std::vector<std::string> all{"memory.allocator=no-cache"};
    all.insert(all.end(), sets.begin(), sets.end());
    const auto result = run(all);
    return result.ok() ? std::string() : result.error().to_string();
  };
  EXPECT_EQ(
      error({"eviction=window:window=4,placement=holes"}),
      "eviction: eviction=window does not work with memory.allocator=no-cache: the allocator has no KV cache "
      "that a policy could evict from. Use eviction=full");
  EXPECT_EQ(error({"format=int4"}),
            "format: format=int4 does not work with memory.allocator=no-cache: the allocator has no KV cache "
            "that a "
            "format could store. Use format=native");
  EXPECT_EQ(error({"memory.pool_blocks=7"}).rfind("memory.pool_blocks: ", 0), 0U);
  EXPECT_EQ(error({"deployment.tp=2"}), "");
  const auto warned = run({"memory.allocator=no-cache", "engine.long_prefill_threshold=16"});
  ASSERT_TRUE(warned.ok());
  EXPECT_EQ(std::count_if(warned.value().warnings.begin(), warned.value().warnings.end(),
                          [](const std::string& w) { return w.find("long_prefill_threshold is") == 0; }),
            1);
}

}  // namespace
}  // namespace kvplan
