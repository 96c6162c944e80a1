// Comparisons made from a few figures, for tests of answers.
#pragma once

#include <cmath>

#include "simulator/report/comparison.h"
#include "tests/unit/report/cases.h"

namespace kvplan::report {

using observe::State;
using runs::Comparison;
using runs::RunResult;
using runs::Variant;

/// A run of 1,000 requests that all completed, in 100 GiB of memory.
struct Made {
  double live{0.5};
  State loss{State::kInternal};
  double lost{0};
  double idle_at_peak{0.25};
  double mean_running{10};
  double tokens_per_s{1000};
  double ttft_p99{1};
  std::int64_t preemptions{0};
  std::int64_t rejected{0};
  std::string digest{"00"};
};

inline RunResult run_of(const Made& made) {
  RunResult r;
  r.scenario = testing::scenario_of(testing::small_settings());
  r.trace_digest = made.digest;
  r.arrived = 1000;
  r.rejected = made.rejected;
  r.completed = 1000 - made.rejected;
  r.input_tokens = 100 * r.completed;
  r.output_tokens = 200 * r.completed;
  r.preemptions = made.preemptions;
  r.mean_running = made.mean_running;
  r.max_running = 5;  // max_seqs is 6
  r.output_tokens_per_s = made.tokens_per_s;
  r.ttft = runs::LatencySummary{.p99 = made.ttft_p99};
  r.capacity_bytes = std::int64_t{100} << 30;
  runs::MemorySummary memory;
  memory.capacity_bytes = r.capacity_bytes;
  memory.timed = true;
  memory.mean_fraction[index(State::kLive)] = made.live;
  memory.mean_fraction[index(made.loss)] = made.lost;
  memory.peak_bytes[index(State::kFree)] =
      std::llround(made.idle_at_peak * static_cast<double>(r.capacity_bytes));
  r.memory = memory;
  r.replicas.resize(1);
  r.replicas[0].max_running = r.max_running;
  r.replicas[0].least_idle_bytes = memory.peak_bytes[index(State::kFree)];
  return r;
}

inline Comparison comparison_of(const std::string& path,
                                const std::vector<std::pair<std::string, Made>>& made) {
  Comparison comparison{{{path, {}}}, {}};
  for (const auto& [value, one] : made) {
    comparison.varies[0].values.push_back(value);
    Variant variant;
    variant.varied = {{path, value}};
    variant.result = run_of(one);
    if (path == "memory.pool_tokens") variant.result->scenario.pool = {.tokens = std::stoll(value)};
    comparison.variants.push_back(std::move(variant));
  }
  return comparison;
}

}  // namespace kvplan::report
