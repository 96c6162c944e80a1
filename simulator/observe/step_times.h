// The parts of the durations of a replica's steps (core::StepPart), summed over its run.
#pragma once

#include "simulator/core/observer.h"
#include "simulator/core/parted_latency.h"

namespace kvplan::observe {

class StepTimes final : public core::Observer {
 public:
  /// The model outlives the observer.
  explicit StepTimes(const core::PartedLatency& latency) : latency_(latency) {}

  /// They sum to the time in steps.
  [[nodiscard]] const core::StepParts& sums() const { return sums_; }

  void on_steps(const core::Steps& steps) override { add(steps.pass, steps.series); }
  void on_decode_run(const core::DecodeRun& decode_run) override { add(decode_run.pass, decode_run.series); }
  [[nodiscard]] bool follows_decode_runs() const override { return true; }

 private:
  /// From step to step of a series only the reading of keys and values grows. What a single step takes beyond its parts
  /// (Pass::delay) counts as launches.
  void add(const core::Pass& pass, const core::StepSeries& series) {
    using core::StepPart;
    const core::StepParts parts = latency_.parts(pass.load);
    Wide rest = series.span(series.steps);
    for (std::size_t i = 0; i < core::kStepParts; ++i) {
      const bool grows = series.steps > 1 && static_cast<StepPart>(i) == StepPart::kDecodeAttention;
      const Wide ticks = grows ? Wide{0} : parts.ticks[i] * series.steps;
      sums_.ticks[i] += ticks;
      rest -= ticks;
    }
    sums_.of(series.steps > 1 ? StepPart::kDecodeAttention : StepPart::kLaunches) += rest;
  }

  const core::PartedLatency& latency_;
  core::StepParts sums_;
};

}  // namespace kvplan::observe
