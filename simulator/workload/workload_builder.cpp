#include "simulator/workload/workload_builder.h"

#include <algorithm>
#include <span>
#include <string>

#include "simulator/base/check.h"
#include "simulator/base/component.h"
#include "simulator/base/number_input.h"
#include "simulator/core/engine.h"

namespace kvplan::workload {
namespace {

core::Workload lengths_of(const traces::Trace& trace, std::size_t count) {
  core::Workload workload;
  workload.input.assign(trace.input_tokens.begin(),
                        trace.input_tokens.begin() + static_cast<std::ptrdiff_t>(count));
  workload.output.assign(trace.output_tokens.begin(),
                         trace.output_tokens.begin() + static_cast<std::ptrdiff_t>(count));
  workload.arrival.resize(count);
  workload.prefix = &trace.prefix;
  workload.session = trace.session;
  workload.tenant = trace.tenant;
  workload.max_tokens = trace.max_tokens;
  workload.priority = trace.priority;
  return workload;
}

}  // namespace

void sort_by_arrival(core::Workload& workload) {
  workload.order.resize(workload.arrival.size());
  number_off(std::span(workload.order));
  const auto earlier = [&](RequestId a, RequestId b) {
    return workload.arrival[index(a)] < workload.arrival[index(b)];
  };
  // Traces are nearly always sorted already.
  if (!std::is_sorted(workload.order.begin(), workload.order.end(), earlier))
    std::stable_sort(workload.order.begin(), workload.order.end(), earlier);
}

Result<core::Workload> build_workload(const traces::Trace& trace, Fraction rate_scale, std::int64_t limit) {
  const auto count = static_cast<std::size_t>(limit < 0 ? trace.size() : std::min(limit, trace.size()));
  core::Workload workload = lengths_of(trace, count);
  std::int64_t first = INT64_MAX;
  for (std::size_t i = 0; i < count; ++i) first = std::min(first, trace.arrival_ns[i]);
  for (std::size_t i = 0; i < count; ++i) {
    const Wide ns = Wide{trace.arrival_ns[i]} - first;
    const Wide ticks = ns * kTicksPerNs * rate_scale.denominator / rate_scale.numerator;
    if (ticks > core::kLastTick)
      return bad_input("request " + std::to_string(i) +
                       " arrives more than 52 days after the first; a run holds 52 days")
          .at_field("workload");
    workload.arrival[i] = SimTime{Ticks{static_cast<std::int64_t>(ticks)}};
  }
  sort_by_arrival(workload);
  return workload;
}

core::Workload build_step_workload(const traces::Trace& trace, std::int64_t quantum_ms) {
  KVPLAN_CHECK(quantum_ms > 0, quantum_ms);
  core::Workload workload = lengths_of(trace, static_cast<std::size_t>(trace.size()));
  for (std::size_t i = 0; i < workload.arrival.size(); ++i)
    workload.arrival[i] = SimTime{Ticks{trace.arrival_ns[i] / (quantum_ms * 1'000'000)}};
  sort_by_arrival(workload);
  return workload;
}

}  // namespace kvplan::workload
