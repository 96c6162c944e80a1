// A file has the retained sets of one prompt (eviction=recorded): requests with that prompt follow them, any other
// request is an error.
#pragma once

#include "simulator/retention/retention.h"

namespace kvplan::runs {

class KeepSets final : public KeepsByPolicy {
 public:
  /// REQUIRES: the policy has its sets (PolicyChoice::recorded), for all layers of the model.
  explicit KeepSets(PlacedPolicy policy);
  Result<CoursePtr> course(const CourseAsked& asked, CourseInputs& inputs) const override;
  [[nodiscard]] Status check_requests(const core::Workload& workload, const core::Memory& memory,
                                      std::int64_t most_tokens) const override;

 protected:
  [[nodiscard]] bool may_differ() const override { return policy_.units.per_token > 1; }

 private:
  [[nodiscard]] std::string field() const;
  std::shared_ptr<const core::Drops> drops_;  ///< the same for all requests
};

}  // namespace kvplan::runs
