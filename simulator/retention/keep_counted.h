// The number of kept tokens follows from lengths, and survivors are compacted (placement=compact). Which tokens are
// kept then changes nothing in a run, so no recording is needed. If recordings are given, they say which tokens are
// dropped, for the event log; the number of kept tokens must still be the number that lengths give. If a recording is
// too short for a request, tokens of that request are only counted.
#pragma once

#include "simulator/retention/retention.h"

namespace kvplan::runs {

class KeepCounted final : public KeepsByPolicy {
 public:
  KeepCounted(PlacedPolicy policy, DrivingRecordings driving)
      : KeepsByPolicy(std::move(policy)), driving_(std::move(driving)) {}
  [[nodiscard]] const DrivingRecordings* driving() const override {
    return driving_.any() ? &driving_ : nullptr;
  }
  [[nodiscard]] bool counts_undriven() const override { return !policy_.measures(); }
  Result<CoursePtr> course(const CourseAsked& asked, CourseInputs& inputs) const override;
  [[nodiscard]] Status check_requests(const core::Workload& workload, const core::Memory& memory,
                                      std::int64_t most_tokens) const override;
  [[nodiscard]] LogCells log_cells() const override;
  [[nodiscard]] PrefixRule prefix_rule(bool /*asked*/) const override { return {}; }

 protected:
  [[nodiscard]] bool may_differ() const override;
  [[nodiscard]] bool counted() const override { return true; }

 private:
  Result<std::shared_ptr<const core::Drops>> drops(const CourseAsked& asked, CourseInputs& inputs) const;
  DrivingRecordings driving_;
};

/// The number of tokens that a request keeps, for each of its cells in order; neighbouring cells with equal counts are
/// joined. If tokens are counted by steps, the counts are what the budget grants. If another rank may keep more and all
/// cells have one table, the count of that rank comes last, with no cells. `grants`: from the policy's budget for this
/// prompt.
std::vector<core::CountedUnits> counted_units_of(const PlacedPolicy& policy, std::int64_t prompt,
                                                 const attention::Grants& grants);

/// Counts by layer of the policy's rank, and within a layer by head if heads have their own counts.
std::vector<std::vector<core::KeptCount>> counts_of_rank(const PlacedPolicy& policy, std::int64_t prompt,
                                                         const attention::Grants& grants);

}  // namespace kvplan::runs
