// Step times of runs that write logs.
#pragma once

#include <algorithm>

#include "simulator/core/latency.h"
#include "tests/validator/run_log.h"

namespace kvplan::test {

/// Every step lasts one tick.
class UnitSteps final : public core::LatencyModel {
 public:
  [[nodiscard]] Ticks step(const core::StepLoad& /*load*/) const override { return Ticks{1}; }
  [[nodiscard]] core::StepSeries decode_series(const core::StepLoad& /*load*/,
                                               const core::LoadGrowth& /*growth*/,
                                               std::int64_t max_steps) const override {
    return {Ticks{1}, Ticks{0}, max_steps};
  }
};

/// Linear in tokens and context.
class LinearSteps final : public core::LatencyModel {
 public:
  [[nodiscard]] Ticks step(const core::StepLoad& load) const override {
    return Ticks{5'000'000 + 300'000 * load.tokens + 7'001 * load.context_tokens};
  }
  [[nodiscard]] core::StepSeries decode_series(const core::StepLoad& load, const core::LoadGrowth& growth,
                                               std::int64_t max_steps) const override {
    return {step(load), Ticks{300'000 * growth.tokens + 7'001 * growth.context_tokens}, max_steps};
  }
};

/// Context counts in hundreds, so that series bend, and are reported in portions of at most five steps.
class BentSteps final : public core::LatencyModel {
 public:
  [[nodiscard]] Ticks step(const core::StepLoad& load) const override {
    return Ticks{5'000'000 + 300'000 * load.tokens + 70'001 * (load.context_tokens / 100)};
  }
  [[nodiscard]] core::StepSeries decode_series(const core::StepLoad& load, const core::LoadGrowth& growth,
                                               std::int64_t max_steps) const override {
    core::StepSeries series{step(load), Ticks{0}, 1};
    core::StepLoad next = load;
    for (; series.steps < std::min<std::int64_t>(max_steps, 5); ++series.steps) {
      next.tokens += growth.tokens;
      next.context_tokens += growth.context_tokens;
      const Ticks expected = series.steps == 1 ? step(next) : series.duration(series.steps);
      if (step(next) != expected) break;
      if (series.steps == 1) series.growth = expected - series.first;
    }
    return series;
  }
};

/// The latency model of a case.
class LogLatency {
 public:
  explicit LogLatency(const LogCase& c) : unit_wanted_(c.unit_latency), bent_wanted_(c.bent_latency) {}
  [[nodiscard]] const core::LatencyModel& model() const {
    if (unit_wanted_) return unit_;
    if (bent_wanted_) return bent_;
    return linear_;
  }

 private:
  bool unit_wanted_, bent_wanted_;
  UnitSteps unit_;
  LinearSteps linear_;
  BentSteps bent_;
};

}  // namespace kvplan::test
