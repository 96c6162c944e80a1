// A duration that depends on a count (tokens, requests), kept after its first use: steps ask for the same few counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "simulator/core/latency.h"
#include "simulator/latency/parts/step_shape.h"

namespace kvplan::latency {

class CountedTicks {
 public:
  CountedTicks() = default;
  /// `us`: microseconds for a count of at least 1. Deterministic: several threads may compute the same value.
  explicit CountedTicks(std::function<double(std::int64_t)> us)
      : us_(std::move(us)), kept_(std::make_unique<std::atomic<std::int64_t>[]>(kKept)) {}

  [[nodiscard]] std::int64_t operator()(std::int64_t count) const {
    if (us_ == nullptr || count < 1) return 0;
    if (count >= kKept) return ticks(count);
    std::atomic<std::int64_t>& place = kept_[static_cast<std::size_t>(count)];
    const std::int64_t kept = place.load(std::memory_order_relaxed);
    if (kept != 0) return kept - 1;
    const std::int64_t made = ticks(count);
    place.store(made + 1, std::memory_order_relaxed);
    return made;
  }

 private:
  static constexpr std::int64_t kKept = 8193;

  [[nodiscard]] std::int64_t ticks(std::int64_t count) const {
    constexpr auto kMost = static_cast<double>(core::kLongestStepTicks);
    const double ticks = us_(count) * kTicksPerUs;
    return ticks < kMost ? std::llround(ticks) : core::kLongestStepTicks;
  }

  std::function<double(std::int64_t)> us_;
  std::unique_ptr<std::atomic<std::int64_t>[]> kept_;  ///< ticks + 1; 0: not computed
};

}  // namespace kvplan::latency
