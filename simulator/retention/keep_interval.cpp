#include "simulator/retention/keep_interval.h"

#include "simulator/retention/layer_counts.h"

namespace kvplan::runs {

Result<CoursePtr> KeepInterval::course(const CourseAsked& asked, CourseInputs& inputs) const {
  if (policy_.keeps_by_layer() && !policy_.rank_tracks)
    KVPLAN_TRY_DO(check_alike_ranks(policy_, asked.shape.prompt, asked.grants));
  return placed_course(policy_, asked.shape,
                       interval_drops(policy_, asked.shape, asked.grants, inputs.block_ids));
}

bool KeepInterval::may_differ() const {
  return !policy_.by_head.empty() && layers_differ(policy_);
}

}  // namespace kvplan::runs
