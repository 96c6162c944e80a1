// The courses of a run's requests (courses/course.h), made from the run's retention.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "simulator/courses/course.h"
#include "simulator/retention/retention.h"

namespace kvplan::runs {

/// Trajectories that no running request follows are cached, up to this many bytes, for later requests.
inline constexpr std::int64_t kTrajectoryBytes = std::int64_t{256} << 20;

/// The courses for one replica of a run. It owns the courses of the requests in flight.
class RunCourses final : public core::CourseSource {
 public:
  /// All arguments outlive it; replicas of one run share `longest` and `trajectories`, on any threads. `control` may
  /// be null; a request to stop also takes effect between pieces of a trajectory. REQUIRES:
  /// retention.follows_courses().
  RunCourses(const Retention& retention, const core::Workload& workload, const LongestDriven& longest,
             const core::MemoryLayout& layout, attention::TrajectoryStore& trajectories,
             const core::RunControl* control);

  Result<const core::Course*> begin(RequestId request, std::int64_t prompt) override;
  void end(RequestId request) override;
  /// By recording: true if it has driven a request.
  [[nodiscard]] const std::vector<bool>& used() const { return inputs_.used; }

 private:
  const Retention& retention_;
  CourseInputs inputs_;
  core::CourseShape shape_;  ///< the values that are the same for all requests
  std::unordered_map<RequestId, CoursePtr> courses_;
};

}  // namespace kvplan::runs
