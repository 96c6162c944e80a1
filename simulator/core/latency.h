// How long a step takes. Integer ticks only: a model rounds its coefficients once, when it is made.
#pragma once

#include <cstdint>

#include "simulator/base/units.h"
#include "simulator/core/step_series.h"

namespace kvplan::core {

/// What one step computes.
struct StepLoad {
  std::int64_t requests{0};  ///< requests with at least one token in the step
  std::int64_t tokens{0};    ///< tokens computed
  std::int64_t context_tokens{
      0};  ///< sum over those requests of tokens computed before the step and still kept
  /// Sum over those requests of (tokens in the step) x (kept tokens before it) + n(n+1)/2 for its own n
  /// tokens: query-key pairs of causal attention. In a decode step: context_tokens + requests.
  std::int64_t attention_pairs{0};
};

/// A step longer than this (2^60 ticks, 13 days) is cut to it; the engine then reports that time ran out.
inline constexpr std::int64_t kLongestStepTicks = std::int64_t{1} << 60;

/// Stateless; may be shared by replicas and threads.
class LatencyModel {
 public:
  virtual ~LatencyModel() = default;
  /// Duration of one step, at least 0.
  [[nodiscard]] virtual Ticks step(const StepLoad& load) const = 0;
  /// The longest exact series of at most `max_steps` decode steps (each request one token) that starts with
  /// `load` and gains `context_growth` context tokens and attention pairs a step. REQUIRES: max_steps >= 1.
  /// The result has at least one step, and duration(k) equals step(load of step k) for each of them.
  [[nodiscard]] virtual StepSeries decode_series(const StepLoad& load, std::int64_t context_growth,
                                                 std::int64_t max_steps) const = 0;
};

}  // namespace kvplan::core
