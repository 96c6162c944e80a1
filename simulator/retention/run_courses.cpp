#include "simulator/retention/run_courses.h"

namespace kvplan::runs {

RunCourses::RunCourses(const Retention& retention, const core::Workload& workload,
                       const LongestDriven& longest, const core::MemoryLayout& layout,
                       attention::TrajectoryStore& trajectories, const core::RunControl* control)
    : retention_(retention),
      inputs_{.workload = workload,
              .longest = longest,
              .trajectories = trajectories,
              .control = control,
              .block_ids = layout.block_ids()},
      shape_{.alloc_unit_tokens = layout.alloc_unit_tokens,
             .returns_alloc_units = layout.returns_alloc_units()} {
  if (const DrivingRecordings* const driving = retention.driving(); driving != nullptr)
    inputs_.used.assign(driving->recordings.size(), false);
  if (const PlacedPolicy* const policy = retention.policy(); policy != nullptr) {
    shape_.placement = policy->placement;
    shape_.reads_holes = policy->reads_holes;
  }
}

Result<const core::Course*> RunCourses::begin(RequestId r, std::int64_t prompt) {
  CourseAsked asked{.request = r, .shape = shape_};
  asked.shape.prompt = prompt;
  asked.shape.final_tokens = inputs_.workload.final_tokens(r);
  if (const PlacedPolicy* const policy = retention_.policy(); policy != nullptr) {
    static const DrivingRecordings kNone;
    const DrivingRecordings* const driving = retention_.driving();
    KVPLAN_TRY(asked.grants, grants_of(*policy, driving != nullptr ? *driving : kNone, r, prompt, inputs_));
  }
  KVPLAN_TRY(CoursePtr course, retention_.course(asked, inputs_));
  return (courses_[r] = std::move(course)).get();
}

void RunCourses::end(RequestId r) {
  courses_.erase(r);
}

}  // namespace kvplan::runs
