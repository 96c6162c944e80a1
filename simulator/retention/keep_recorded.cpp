#include "simulator/retention/keep_recorded.h"

#include "simulator/retention/layer_counts.h"

namespace kvplan::runs {

Result<CoursePtr> KeepRecorded::course(const CourseAsked& asked, CourseInputs& inputs) const {
  KVPLAN_TRY(auto dropped, recorded_drops(policy_, driving_, asked, inputs));
  return placed_course(policy_, asked.shape, std::move(dropped));
}

bool KeepRecorded::may_differ() const {
  if (!policy_.by_head.empty()) return layers_differ(policy_);
  if (policy_.units.per_token == 1) return false;
  const attention::PolicyTraits traits = policy_.traits();
  if (!policy_.budget && traits.all_alike()) return false;
  if (traits.count || policy_.policy.kind->layer_counts != nullptr)
    return policy_.keeps_by_layer() && layers_differ(policy_);
  return traits.scope == attention::Scope::kKvHead;
}

}  // namespace kvplan::runs
