// engine.policy=priority from a trace to a report: its effect, and the settings with which it is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/base/random.h"
#include "simulator/results/report.h"
#include "tests/support/plan_run.h"

namespace kvplan {
namespace {

using test::try_run;

/// More requests than the pool serves at once. Every third request is urgent.
traces::Trace busy() {
  Random random(7, "busy");
  traces::Trace trace;
  for (std::int64_t i = 0; i < 240; ++i) {
    trace.arrival_ns.push_back(i * 20'000'000);
    trace.input_tokens.push_back(static_cast<std::int32_t>(random.between(100, 900)));
    trace.output_tokens.push_back(static_cast<std::int32_t>(random.between(50, 400)));
    trace.priority.push_back(i % 3 == 0 ? 0 : 7);
  }
  return trace;
}

const std::vector<std::string> kSets{"model=llama-3-8b", "memory.pool_tokens=12000",
                                     "latency=affine:base_ns=8000000,token_ns=20000,context_ns=10"};

std::vector<std::string> with(std::vector<std::string> sets, const std::string& more) {
  sets.push_back(more);
  return sets;
}

double mean_ttft_s(const runs::RunResult& run, bool urgent) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t i = urgent ? 0 : 1; i < run.records.size(); i += 3, ++count)
    sum += static_cast<double>((run.records[i].first_token - run.records[i].arrival).count);
  return sum / static_cast<double>(count) / 1024e9;
}

TEST(PriorityRun, TheUrgentWaitLessAndTheOthersPay) {
  const traces::Trace trace = busy();
  const runs::RunResult fcfs = try_run(trace, kSets).value();
  const runs::RunResult priority = try_run(trace, with(kSets, "engine.policy=priority")).value();
  const runs::RunResult naive = try_run(trace, with(kSets, "engine.policy=priority"), true).value();
  EXPECT_GT(priority.preemptions, 0);
  EXPECT_LT(mean_ttft_s(priority, true), mean_ttft_s(fcfs, true) / 4);
  EXPECT_GT(mean_ttft_s(priority, false), mean_ttft_s(fcfs, false));
  EXPECT_EQ(priority.completed, fcfs.completed);
  EXPECT_EQ(runs::report_json(naive), runs::report_json(priority));
  EXPECT_EQ(runs::requests_csv(naive), runs::requests_csv(priority));
}

TEST(PriorityRun, ATraceWithoutPrioritiesIsToldOf) {
  traces::Trace trace = busy();
  const auto warned = [](const runs::RunResult& run) {
    return std::any_of(run.warnings.begin(), run.warnings.end(), [](const std::string& warning) {
      return warning.find("has no priorities") != std::string::npos;
    });
  };
  EXPECT_FALSE(warned(try_run(trace, with(kSets, "engine.policy=priority")).value()));
  trace.priority.clear();
  const runs::RunResult none = try_run(trace, with(kSets, "engine.policy=priority")).value();
  EXPECT_TRUE(warned(none));
  EXPECT_FALSE(warned(try_run(trace, kSets).value()));
  // Without priorities, requests are served first come first served.
  EXPECT_EQ(runs::requests_csv(none), runs::requests_csv(try_run(trace, kSets).value()));
}

void expect_refused(const std::string& setting, const std::string& problem, const std::string& field) {
  const auto run = try_run(busy(), with(with(kSets, "engine.policy=priority"), setting));
  ASSERT_FALSE(run.ok()) << setting;
  EXPECT_NE(run.error().message.find(problem), std::string::npos) << run.error().to_string();
  EXPECT_EQ(run.error().field, field);
}

TEST(PriorityRun, WhatItIsRefusedBeside) {
  expect_refused("eviction=window:window=64",
                 "eviction=window does not work with engine.policy=priority: ", "eviction");
  expect_refused("eviction=h2o:hh=20,recent=20,placement=compact", "supports no token policy", "eviction");
  for (const std::string allocator : {"growing", "contiguous:reserve=oracle,compact=on-refusal"})
    expect_refused("memory.allocator=" + allocator, "without compaction", "memory.allocator");
  expect_refused("memory.allocator=grouped", "one table for all layers", "memory.allocator");
  for (const std::string allocator :
       {"contiguous:reserve=oracle", "no-cache", "paged:block_tokens=32", "vmm:map_us=0,unmap_us=0"})
    EXPECT_TRUE(
        try_run(busy(), with(with(kSets, "engine.policy=priority"), "memory.allocator=" + allocator)).ok())
        << allocator;
  const auto unknown = try_run(busy(), with(kSets, "engine.policy=lottery"));
  ASSERT_FALSE(unknown.ok());
}

TEST(PriorityRun, AFleetAndAReaderGoWithIt) {
  const traces::Trace trace = busy();
  for (const std::string more :
       {"fleet=replicas=2,router=least-loaded:by=blocks", "fleet=replicas=2,router=prefix-affine",
        "fleet.replicas=3", "reader=quest:budget=256", "memory.replacement=s3fifo",
        "engine.token_budget=600"}) {
    const auto sets = with(with(kSets, "engine.policy=priority"), more);
    const auto fast = try_run(trace, sets);
    const auto naive = try_run(trace, sets, true);
    ASSERT_TRUE(fast.ok()) << more << ": " << fast.error().to_string();
    ASSERT_TRUE(naive.ok()) << more << ": " << naive.error().to_string();
    EXPECT_EQ(runs::report_json(naive.value()), runs::report_json(fast.value())) << more;
    EXPECT_EQ(runs::requests_csv(naive.value()), runs::requests_csv(fast.value())) << more;
  }
}

}  // namespace
}  // namespace kvplan
