#include "simulator/retention/keep_sets.h"

#include <algorithm>

#include "simulator/attention/recorded_sets.h"

namespace kvplan::runs {

KeepSets::KeepSets(PlacedPolicy policy)
    : KeepsByPolicy(std::move(policy)),
      drops_(std::make_shared<attention::SetDrops>(policy_.policy.recorded, policy_.layers)) {}

std::string KeepSets::field() const {
  return "eviction: " + std::string(policy_.policy.choice.name()) + ":file";
}

/// Such a request must not be preempted, since it would then have to compute more than its prompt.
Result<CoursePtr> KeepSets::course(const CourseAsked& asked, CourseInputs& /*inputs*/) const {
  if (asked.shape.prompt == policy_.policy.recorded->prompt)
    return placed_course(policy_, asked.shape, drops_);
  return bad_input("expected enough memory that no request is preempted: request " +
                   std::to_string(number(asked.request)) + " is readmitted with " +
                   std::to_string(asked.shape.prompt) +
                   " tokens to compute, but the sets are for a prompt of " +
                   std::to_string(policy_.policy.recorded->prompt))
      .at_file(policy_.policy.recorded->file)
      .at_field(field());
}

Status KeepSets::check_requests(const core::Workload& workload, const core::Memory& memory,
                                std::int64_t most_tokens) const {
  const attention::RecordedLayers& sets = *policy_.policy.recorded;
  std::int64_t states = INT64_MAX;  // least number of states of any layer
  for (std::int32_t layer = 0; layer < policy_.layers; ++layer)
    states = std::min<std::int64_t>(states, std::ssize(sets.of(layer)->after));
  std::int64_t others = 0;
  std::string first;
  for (const RequestId r : ids_below<RequestId>(workload.size())) {
    const std::size_t i = index(r);
    // Nothing is dropped after the last token, nor after the one that is sampled last.
    const bool told = workload.input[i] == sets.prompt && workload.output[i] <= states + 1;
    if (told || !core::is_served(workload, r, most_tokens, memory)) continue;
    if (++others == 1)
      first = "request " + std::to_string(number(r)) + " has " + std::to_string(workload.input[i]) + " and " +
              std::to_string(workload.output[i]);
  }
  if (others == 0) return Done{};
  return bad_input("expected requests with the prompt length of the sets, " + std::to_string(sets.prompt) +
                   " tokens, and with at most " + std::to_string(states + 1) + " of output: " + first +
                   (others > 1 ? "; the same holds for " + std::to_string(others) + " requests" : ""))
      .at_file(sets.file)
      .at_field(field());
}

}  // namespace kvplan::runs
