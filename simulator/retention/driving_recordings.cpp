#include "simulator/retention/driving_recordings.h"

#include <algorithm>
#include <string>

namespace kvplan::runs {
namespace {

/// The largest token number that any request with such a prompt needs, so that one computation serves all of them. A
/// policy that looks ahead sees only the request's own tokens.
std::int64_t last_asked(const PlacedPolicy& p, std::size_t recording, const core::CourseShape& shape,
                        const LongestDriven& all) {
  if (p.traits().foresight) return attention::last_that_drops(shape.final_tokens);
  const auto longest = all.find({recording, shape.prompt});
  return attention::last_that_drops(std::max(shape.final_tokens, longest == all.end() ? 0 : longest->second));
}

}  // namespace

Result<attention::Grants> grants_of(const PlacedPolicy& p, const DrivingRecordings& driving, RequestId r,
                                    std::int64_t prompt, CourseInputs& inputs) {
  if (!p.budget) return attention::Grants{};
  if (!p.budget->measured()) return p.budget->grants(prompt);
  const std::size_t which = driving.which(r);
  auto found = inputs.measured.find({which, prompt});
  if (found == inputs.measured.end()) {
    const Recorded& recorded = driving.recordings[which];
    KVPLAN_TRY(auto scores, p.budget->measure(*recorded.recording, recorded.sequence, prompt));
    found = inputs.measured.emplace(std::pair{which, prompt}, std::move(scores)).first;
  }
  return p.budget->grants(prompt, found->second);
}

Result<std::shared_ptr<const core::Drops>> recorded_drops(const PlacedPolicy& p,
                                                          const DrivingRecordings& driving,
                                                          const CourseAsked& asked, CourseInputs& inputs) {
  const std::size_t which = driving.which(asked.request);
  const Recorded& recorded = driving.recordings[which];
  inputs.used[which] = true;
  KVPLAN_TRY(auto trajectory,
             inputs.trajectories.get(
                 recorded.recording, recorded.sequence, asked.shape.prompt,
                 last_asked(p, which, asked.shape, inputs.longest), p.policy, asked.grants,
                 [control = inputs.control] { return control != nullptr && control->wants_stop(); }));
  return std::shared_ptr<const core::Drops>(
      std::make_shared<attention::RecordedDrops>(std::move(trajectory)));
}

Status check_all_driven(const DrivingRecordings& driving, const core::Workload& workload,
                        const core::Memory& memory, std::int64_t most_tokens) {
  std::int64_t undriven = 0;
  std::string first;
  for (const RequestId r : ids_below<RequestId>(workload.size())) {
    if (driving.drives(workload, r) || !core::is_served(workload, r, most_tokens, memory)) continue;
    const Recorded& recorded = driving.recordings[driving.which(r)];
    if (++undriven == 1)
      first = "request " + std::to_string(number(r)) + " needs " + std::to_string(workload.final_tokens(r)) +
              " tokens (prompt + output - 1), " + recorded.name + " has " + std::to_string(recorded.tokens);
  }
  if (undriven == 0) return Done{};
  return bad_input("expected longer recordings: " + first +
                   (undriven > 1 ? "; the same holds for " + std::to_string(undriven) + " requests" : ""))
      .at_field("workload.attention");
}

}  // namespace kvplan::runs
