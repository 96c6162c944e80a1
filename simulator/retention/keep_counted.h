// Lengths say how many tokens stay, and survivors move together (placement=compact): which tokens stay changes nothing
// of a run, so no recording is needed. Where recordings are given they say which tokens go, for the event log; as many
// have to stay as lengths say. A request that its recording cannot drive is counted.
#pragma once

#include "simulator/retention/retention.h"

namespace kvplan::plan {

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

/// How many tokens of a request stay, of each of its cells in order, neighbours that keep alike together; where they
/// are counted by steps, what the budget grants. Where another rank may keep more and all cells have one table, its
/// count stands last, with no cells. `grants`: of the policy's budget for this prompt.
std::vector<core::CountedUnits> counted_units_of(const PlacedPolicy& policy, std::int64_t prompt,
                                                 const attention::Grants& grants);

/// By layer of the policy's rank, and in each by head where heads keep numbers of their own.
std::vector<std::vector<core::KeptCount>> counts_of_rank(const PlacedPolicy& policy, std::int64_t prompt,
                                                         const attention::Grants& grants);

}  // namespace kvplan::plan
