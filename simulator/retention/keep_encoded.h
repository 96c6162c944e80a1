// Tokens are exact while their prompt is computed. When it is complete, everything that the request stores is encoded
// together; after every later step the number of its bytes follows from lengths (courses/encoded_course.h). A cell is a
// byte. A counted policy evicts tokens before they are encoded.
#pragma once

#include <optional>

#include "simulator/retention/keep_counted.h"
#include "simulator/scenario/combinations.h"
#include "simulator/scenario/run_format.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {

class KeepEncoded final : public Retention {
 public:
  /// `counted`: absent if every token is kept. Neighbouring layers with the same storage are one element.
  KeepEncoded(std::vector<EncodedLayers> layers, std::optional<KeepCounted> counted)
      : layers_(std::move(layers)), counted_(std::move(counted)) {}
  [[nodiscard]] const PlacedPolicy* policy() const override {
    return counted_ ? counted_->policy() : nullptr;
  }
  [[nodiscard]] const DrivingRecordings* driving() const override {
    return counted_ ? counted_->driving() : nullptr;
  }
  [[nodiscard]] bool counts_undriven() const override { return counted_ && counted_->counts_undriven(); }
  Result<CoursePtr> course(const CourseAsked& asked, CourseInputs& inputs) const override;
  [[nodiscard]] Status check_requests(const core::Workload& workload, const core::Memory& memory,
                                      std::int64_t most_tokens) const override {
    return counted_ ? counted_->check_requests(workload, memory, most_tokens) : Status(Done{});
  }
  [[nodiscard]] std::vector<std::string> sentences(const AfterRun& run) const override {
    std::string text = counted_ ? counted_->hole_sentence(run) : std::string();
    return text.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::move(text)};
  }

 private:
  std::vector<EncodedLayers> layers_;
  std::optional<KeepCounted> counted_;
};

/// The layers of the rank as the scenario's formats store them.
struct EncodedRank {
  std::vector<EncodedLayers> layers;
  std::int64_t token_bytes{0};  ///< bytes of an exact token
};
/// `policy`: the policy that drops tokens, or null. Adds the run parts that follow from the model, and assumptions.
/// Errors: those of run_format.h's encoded_layers, and combinations that do not work.
Result<EncodedRank> encode_rank(const Scenario& scenario, const model::ModelShape& model,
                                const ModelOnRanks& placed, const PlacedPolicy* policy, RunParts& parts,
                                std::vector<std::string>& assumptions);

}  // namespace kvplan::runs
