// A latency model that knows what steps are made of, and what requests take outside steps.
#pragma once

#include <array>
#include <cstdint>

#include "simulator/core/latency.h"

namespace kvplan::core {

/// What the duration of a step is made of.
enum class StepPart : std::uint8_t {
  kWeights,           ///< products with weights that every token passes, and the output layer
  kExperts,           ///< products with experts' weights
  kDecodeAttention,   ///< reading keys and values
  kPrefillAttention,  ///< attention of prompts
  kLinks,             ///< between ranks
  kLaunches,          ///< small kernels, launches, scheduling
};
inline constexpr std::size_t kStepParts = 6;

/// Ticks, by StepPart.
struct StepParts {
  std::array<Wide, kStepParts> ticks{};

  [[nodiscard]] Wide& of(StepPart part) { return ticks[static_cast<std::size_t>(part)]; }
  [[nodiscard]] Wide of(StepPart part) const { return ticks[static_cast<std::size_t>(part)]; }
};

class PartedLatency : public LatencyModel {
 public:
  /// The parts of step(load); their sum is its duration before that is cut.
  [[nodiscard]] virtual StepParts parts(const StepLoad& load) const = 0;
  /// What a request takes before the engine has it: network, tokeniser. Part of TTFT and E2E.
  [[nodiscard]] virtual Ticks outside(std::int64_t prompt_tokens) const = 0;
};

/// What requests take outside steps with any latency model: nothing where it does not know.
class OutsideTimes {
 public:
  explicit OutsideTimes(const LatencyModel& latency)
      : parted_(dynamic_cast<const PartedLatency*>(&latency)) {}

  [[nodiscard]] Ticks operator()(std::int64_t prompt_tokens) const {
    return parted_ == nullptr ? Ticks{} : parted_->outside(prompt_tokens);
  }

 private:
  const PartedLatency* parted_;
};

}  // namespace kvplan::core
