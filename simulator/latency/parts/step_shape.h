// The work of a step: the model on its ranks, and the device of each rank. For the parts of a composed step
// time.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/base/units.h"
#include "simulator/model/device.h"
#include "simulator/model/model_shape.h"

namespace kvplan::latency {

struct StepShape {
  const model::ModelShape& model;
  const model::DeviceShape& device;
  std::int64_t tensor_ranks{1}, stages{1};
  std::vector<std::int64_t> stage_layers{};  ///< of each stage; empty: as vLLM divides them
  std::int64_t token_bytes{0};  ///< keys and values of a token, on one rank of each stage together
  /// Of every weight, in 2^-16 bits, instead of those in which the checkpoint stores it
  std::optional<std::int64_t> fine_weight_bits{};
  std::optional<std::int64_t> weights_bytes{};  ///< weights of a rank, as loaded, whatever their bits
  bool follows_windows{false};  ///< layers with a window read only what it shows; else everything
  /// For each layer, the share of its heads with sparse attention in decode steps; empty: none.
  std::vector<double> partly{};
  std::int64_t ranked_token_ticks{0};  ///< time in which these heads read the metadata of a token

  [[nodiscard]] double figure(model::DeviceFigure name) const {
    return static_cast<double>(device.at(name).value);
  }
};

inline constexpr double kTicksPerSecond = 1e9 * static_cast<double>(kTicksPerNs);
inline constexpr double kTicksPerUs = 1e3 * static_cast<double>(kTicksPerNs);

/// Activations, and messages between ranks, are half precision.
inline constexpr std::int64_t kActivationBytes = 2;

/// A duration in 2^-16 ticks, so that a sum over many equal terms is as exact as the terms.
struct FineTicks {
  std::int64_t count{0};

  /// Rounds once. REQUIRES: ticks >= 0, below 2^46.
  static FineTicks of(double ticks) { return {std::llround(ticks * 65536.0)}; }
  /// Duration of `many` such durations, rounded down to a tick.
  [[nodiscard]] Wide times(std::int64_t many) const { return Wide{count} * many >> 16; }
};

}  // namespace kvplan::latency
