// The courses of a run's requests: what its token policy does to each, from lengths or recordings.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/attention/drops.h"
#include "simulator/courses/course.h"
#include "simulator/retention/token_plan.h"

namespace kvplan::plan {

/// Trajectories that no running request follows are kept up to this, for those to come.
inline constexpr std::int64_t kTrajectoryBytes = std::int64_t{256} << 20;

/// Which of the plan's recordings drives a request, and with what prompt.
using DrivenPrompt = std::pair<std::size_t, std::int64_t>;  ///< recording, tokens of the prompt
/// Of each such prompt the final tokens of the longest request that comes with it; empty where nothing is replayed.
using LongestDriven = std::map<DrivenPrompt, std::int64_t>;
LongestDriven longest_driven(const TokenPlan& plan, const core::Workload& workload);

/// The courses of one replica's run. It keeps those of the requests in flight.
class RunCourses final : public core::CourseSource {
 public:
  /// All outlive it; replicas of one run share `longest` and `trajectories`, on any threads. `control` may be null; a
  /// wish to stop is seen between pieces of a trajectory too.
  RunCourses(const TokenPlan& plan, const core::Workload& workload, const LongestDriven& longest,
             const core::MemoryLayout& layout, attention::TrajectoryStore& trajectories,
             const core::RunControl* control);

  Result<const core::Course*> begin(RequestId request, std::int64_t prompt) override;
  void end(RequestId request) override;
  /// Which of the plan's recordings have driven a request.
  [[nodiscard]] const std::vector<bool>& used() const { return used_; }

 private:
  /// What a course is made of.
  struct Asked {
    RequestId request;
    core::CourseShape shape;
    attention::Grants grants;  ///< of the plan's budget for this prompt; empty without one
  };
  Result<attention::Grants> grants(RequestId request, std::int64_t prompt);
  Result<std::shared_ptr<const core::Drops>> drops(const Asked& asked);
  Result<std::shared_ptr<const core::Drops>> recorded_drops(const Asked& asked);
  [[nodiscard]] Result<std::shared_ptr<const core::Drops>> sets_of_prompt(const Asked& asked) const;
  [[nodiscard]] std::int64_t last_asked(std::size_t recording, const core::CourseShape& shape) const;
  [[nodiscard]] std::unique_ptr<const core::Course> window_course(core::CourseShape shape, std::int64_t table,
                                                                  std::int64_t window) const;
  template <class Make, class Same>
  [[nodiscard]] std::unique_ptr<const core::Course> course_of_tables(const core::CourseShape& shape,
                                                                     Make policy_course,
                                                                     Same same_course) const;
  [[nodiscard]] std::unique_ptr<const core::Course> course_of_counts(
      const core::CourseShape& shape, const std::vector<core::CountedUnits>& units,
      std::shared_ptr<const core::Drops> drops) const;
  [[nodiscard]] std::unique_ptr<const core::Course> counted_course(
      const Asked& asked, std::shared_ptr<const core::Drops> drops) const;
  [[nodiscard]] std::unique_ptr<const core::Course> placed_course(
      const core::CourseShape& shape, std::shared_ptr<const core::Drops> drops) const;
  Result<std::shared_ptr<const core::Drops>> counted_drops(const Asked& asked);
  Status check_counts(const Asked& asked, const core::Drops& drops) const;
  const TokenPlan& plan_;
  const core::Workload& workload_;
  const LongestDriven& longest_;
  core::MemoryLayout layout_;
  const core::RunControl* control_;
  attention::TrajectoryStore& trajectories_;
  std::unordered_map<RequestId, std::unique_ptr<const core::Course>> courses_;
  std::vector<bool> used_;
  std::shared_ptr<const core::Drops> sets_;  ///< of a file, the same for all requests; or null
  std::map<DrivenPrompt, attention::HeadTable> measured_;
};

}  // namespace kvplan::plan
