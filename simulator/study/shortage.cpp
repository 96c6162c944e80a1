#include "simulator/study/shortage.h"

#include <algorithm>

namespace kvplan::runs {

using observe::State;

std::int64_t idle_at_peak(const RunSummary& r) {
  std::int64_t idle = 0;
  for (const State s : {State::kCached, State::kStranded, State::kFree})
    idle += r.memory->peak_bytes[index(s)];
  return idle;
}

std::int64_t least_idle(const RunSummary& r) {
  return std::min_element(
             r.replicas.begin(), r.replicas.end(),
             [](const auto& a, const auto& b) { return a.least_idle_bytes < b.least_idle_bytes; })
      ->least_idle_bytes;
}

bool may_hide_refusals(const RunSummary& r) {
  if (r.memory->mean_fraction[index(State::kCached)] == 0) return false;
  const PoolShape& pool = r.replicas.front().pool;  // all are alike
  const std::int64_t alloc_units = ceil_div(r.largest_request_tokens, pool.alloc_unit_tokens) + 1;
  return least_idle(r) < alloc_units * pool.alloc_unit_bytes;
}

bool running_slots_ran_out(const RunSummary& r) {
  const std::int64_t slots = r.scenario.engine_traits().running.value;
  return std::any_of(r.replicas.begin(), r.replicas.end(),
                     [&](const ReplicaSummary& x) { return x.max_running >= slots; });
}

Shortage shortage_of(const RunSummary& r) {
  if (!r.memory || !r.memory->timed) return Shortage::kNoTime;
  if (r.preemptions > 0 || r.memory->mean_fraction[index(State::kStranded)] > 0) return Shortage::kHappens;
  if (least_idle(r) == 0 || may_hide_refusals(r)) return Shortage::kUnknown;
  return Shortage::kNever;
}

}  // namespace kvplan::runs
