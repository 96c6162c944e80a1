// Attention decides which tokens are kept: the policy is replayed on recordings, which must be long enough for their
// requests. Some policies need no attention but have no closed form (random, seed-ring, an expression of positions).
// They are replayed on the model's shape alone.
#pragma once

#include "simulator/retention/retention.h"

namespace kvplan::runs {

class KeepRecorded final : public KeepsByPolicy {
 public:
  /// REQUIRES: driving.any().
  KeepRecorded(PlacedPolicy policy, DrivingRecordings driving)
      : KeepsByPolicy(std::move(policy)), driving_(std::move(driving)) {}
  [[nodiscard]] const DrivingRecordings* driving() const override { return &driving_; }
  Result<CoursePtr> course(const CourseAsked& asked, CourseInputs& inputs) const override;
  [[nodiscard]] Status check_requests(const core::Workload& workload, const core::Memory& memory,
                                      std::int64_t most_tokens) const override {
    return check_all_driven(driving_, workload, memory, most_tokens);
  }

 protected:
  [[nodiscard]] bool may_differ() const override;

 private:
  DrivingRecordings driving_;
};

}  // namespace kvplan::runs
