// SGLang's engine in runs: with steps of one tick it equals the recorded replay of the scheduler; and the ledger, which
// counts the memory of requests outside the tree, agrees with the pool at every moment.
#include <gtest/gtest.h>

#include <array>

#include "simulator/core/clock.h"
#include "simulator/observe/ledger.h"
#include "simulator/observe/requests.h"
#include "simulator/run/run.h"
#include "simulator/scheduling/sglang/replay/sched.h"
#include "simulator/workload/workload_builder.h"
#include "tests/support/random_trace.h"
#include "tests/support/sglang_twin.h"

namespace kvplan {
namespace {

using observe::index;
using observe::State;
using scheduling::sglang::QueueOrder;

class UnitSteps final : public core::LatencyModel {
 public:
  [[nodiscard]] Ticks step(const core::StepLoad& /*load*/) const override { return Ticks{1}; }
  [[nodiscard]] core::StepSeries decode_series(const core::StepLoad& /*load*/,
                                               const core::LoadGrowth& /*growth*/,
                                               std::int64_t /*max_steps*/) const override {
    return {Ticks{1}, Ticks{0}, 1};
  }
};

/// Compares the ledger with the pool.
class Watch final : public core::Observer {
 public:
  Watch(const observe::Ledger& ledger, const test::SglangTwin& twin) : ledger_(ledger), twin_(twin) {}
  void on_pass_end(const core::Pass& pass) override {
    compare();
    stranded += ledger_.cells()[index(State::kStranded)] > 0 ? 1 : 0;
    shared += pass.pool.sharers > 0 ? 1 : 0;
  }
  void on_settled(SimTime /*time*/, const core::PoolCounts& /*pool*/) override {
    compare();
    EXPECT_EQ(twin_.violation(), "");
  }
  std::int64_t stranded{0}, shared{0};

 private:
  void compare() const {
    const observe::StateCounts cells = ledger_.cells();
    const core::PoolCounts pool = twin_.memory().counts();
    const std::int64_t page = twin_.memory().layout().alloc_unit_tokens;
    EXPECT_EQ(cells[index(State::kCached)], pool.cached * page);
    EXPECT_EQ(cells[index(State::kFree)] + cells[index(State::kStranded)], pool.free * page);
    EXPECT_GE(cells[index(State::kLive)], pool.shared * page);
    EXPECT_EQ(cells[index(State::kHole)] + cells[index(State::kInternal)], 0);
  }
  const observe::Ledger& ledger_;
  const test::SglangTwin& twin_;
};

struct Case {
  traces::Trace trace;
  replays::CacheOptions options;
};

/// Every request is served, to the end of the trace; chunks are whole pages.
Case draw(Random& random) {
  Case c;
  c.trace = test::random_trace(random, {.requests = random.between(1, 60),
                                        .hash_block = random.chance(1, 8) ? 0 : random.between(3, 12),
                                        .most_input = random.between(5, 120),
                                        .most_output = random.between(1, 40),
                                        .most_gap_ms = random.between(10, 2000)});
  replays::CacheOptions& options = c.options;
  options.block_tokens = random.chance(1, 3) ? 1 : random.between(1, 9);
  options.pool_tokens = options.block_tokens + random.between(170, random.chance(1, 2) ? 260 : 900);
  options.prefix_cache = random.chance(3, 4);
  options.quantum_ms = random.between(1, 100);
  if (random.chance(1, 2)) options.chunk = options.block_tokens * random.between(1, 12);
  options.scheduler.max_seqs = random.between(1, 12);
  options.sglang.order = random.chance(1, 2) ? QueueOrder::kLongestPrefix : QueueOrder::kArrival;
  options.sglang.max_prefill_tokens = random.chance(1, 2) ? 16384 : random.between(1, 100);
  options.sglang.conservativeness = static_cast<double>(random.between(0, 20)) / 10;
  options.sglang.decay_steps = random.between(1, 60);
  options.sglang.clip_tokens = random.chance(1, 2) ? 4096 : random.between(1, 20);
  options.sglang.retract_decode_steps = random.between(0, 30);
  return c;
}

scheduling::sglang::Params params_of(const replays::CacheOptions& options) {
  scheduling::sglang::Params params = options.sglang;
  params.max_running = options.scheduler.max_seqs;
  params.chunk_tokens = options.chunk;
  return params;
}

TEST(SglangRun, InUnitStepsItDoesWhatTheDriverDoes) {
  std::int64_t compared = 0, retracted = 0, hits = 0, stranded = 0, shared = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "sglang run");
    const Case c = draw(random);
    bool idled = false;  // a step of the driver that takes no time in a run
    const auto rows = replays::run_sglang_sched(c.trace, c.options, [&](const replays::SglangStepRow& row) {
      idled = idled || (row.kind == scheduling::sglang::StepKind::kIdle && row.waiting > 0);
    });
    ASSERT_TRUE(rows.ok()) << rows.error().to_string();

    const core::Workload workload = workload::build_step_workload(c.trace, *c.options.quantum_ms);
    const core::MemoryLayout layout = test::sglang_layout(c.options.block_tokens, c.options.pool_tokens);
    test::SglangTwin twin(random.chance(1, 2), workload, layout, c.options.prefix_cache);
    observe::Ledger ledger(workload, layout, {}, {});
    Watch watch(ledger, twin);
    std::vector<observe::RequestRecord> records(workload.input.size());
    observe::RequestRecords requests(records, false);
    const UnitSteps unit;
    const std::array<core::Observer*, 3> observers{&ledger, &watch, &requests};
    const core::ReplicaSetup setup{
        .workload = &workload, .keep = {}, .latency = &unit, .observers = observers};
    const auto replica = twin.replica(setup, params_of(c.options));
    ASSERT_TRUE(core::run_alone(*replica, workload, workload.order, nullptr).ok());
    ASSERT_EQ(twin.memory().counts().held, 0);
    stranded += watch.stranded;
    shared += watch.shared;
    for (const observe::RequestRecord& r : records) ASSERT_EQ(r.status, observe::RequestStatus::kCompleted);
    if (idled) continue;
    ++compared;
    for (std::size_t i = 0; i < records.size(); ++i) {
      SCOPED_TRACE("request " + std::to_string(i));
      const observe::RequestRecord& r = records[i];
      const replays::SglangRequestRow& row = rows.value()[i];
      ASSERT_EQ(r.first_scheduled.since_start.count, row.first_sched_step);
      ASSERT_EQ(r.first_token.since_start.count, row.first_token_step + 1);
      ASSERT_EQ(r.finish.since_start.count, row.finish_step + 1);
      ASSERT_EQ(r.prefix_hit_tokens, row.first_hit_tokens);
      ASSERT_EQ(r.prefix_hit_tokens + r.rehit_tokens, row.all_hit_tokens);
      ASSERT_EQ(r.preemptions, row.retractions);
      ASSERT_EQ(r.computed_tokens, row.prefill_tokens + row.decode_steps);
      retracted += row.retractions;
      hits += row.all_hit_tokens;
    }
  }
  EXPECT_GT(compared, 200);
  for (const std::int64_t count : {retracted, hits, stranded, shared}) EXPECT_GT(count, 0);
}

TEST(SglangRun, WhatItCannotServeIsRefusedWithItsField) {
  const auto refusal = [](const std::vector<std::string>& texts) {
    std::vector<runs::Setting> settings{runs::parse_setting("engine=sglang").value()};
    for (const std::string& text : texts) settings.push_back(runs::parse_setting(text).value());
    const auto scenario = runs::resolve(settings);
    if (!scenario.ok()) return scenario.error().to_string();
    traces::Trace trace;
    trace.arrival_ns = {0};
    trace.input_tokens = {10};
    trace.output_tokens = {2};
    const auto result = runs::run_scenario(scenario.value(), trace, {});
    return result.ok() ? std::string() : result.error().to_string();
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_NE(refusal({"eviction=window:window=64"}).find("eviction: "), std::string::npos);
  EXPECT_NE(refusal({"memory.allocator=contiguous"}).find("memory.allocator: "), std::string::npos);
  EXPECT_NE(refusal({"engine=sglang:chunked_prefill_size=100"}).find("chunked_prefill_size: "),
            std::string::npos);
  EXPECT_NE(refusal({"memory.pool_tokens=6"}).find("memory: "), std::string::npos);
}

}  // namespace
}  // namespace kvplan
