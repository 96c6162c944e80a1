// The kernels of steps on a machine: right, predicted by calls that are none of them; and what happens if the machine
// fails at any call.
#include "validator/run/measured_steps.h"

#include <gtest/gtest.h>

#include <cmath>

#include "validator/kernels/fake_machine.h"

namespace kvplan::validator {
namespace {

KernelShape small_shape() {
  KernelShape shape;
  shape.attention = {{.layers = 4, .query_heads = 4, .kv_heads = 2, .head_size = 64}};
  return shape;
}

/// Requests with these many tokens, of which a share is kept.
LoggedStep step_of(std::int64_t index, const std::vector<std::int64_t>& tokens, double kept = 1) {
  LoggedStep step{.index = index, .ticks = 1000, .decodes = {}};
  for (const std::int64_t each : tokens)
    step.decodes.push_back(
        {each, kept < 1 ? std::floor(static_cast<double>(each) * kept) + 0.5 : static_cast<double>(each), 0});
  return step;
}

const MeasureOptions kQuick{.seconds = 30, .quick = true, .calibration_file = {}};

TEST(MeasuredSteps, PredictsCallsThatItHasNotSeen) {
  const auto machine = make_host_machine(1);
  const auto made =
      measure_steps(*machine, {step_of(3, {70, 300}), step_of(9, {600})}, small_shape(), kQuick);
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  const MeasuredRun& run = made.value();
  ASSERT_EQ(run.steps.size(), 2U);
  EXPECT_GT(run.calibrated_rows, 3);
  EXPECT_EQ(run.wrong, 0) << run.first_problem;
  EXPECT_GT(run.checked, 0);
  ASSERT_EQ(run.errors.size(), 2U);
  for (const UnseenErrors& each : run.errors) EXPECT_EQ(each.errors.predicted, 2) << each.kernel;
  for (const MeasuredStep& step : run.steps) {
    ASSERT_EQ(step.kernels.size(), 2U);
    EXPECT_EQ(step.kernels[0].calls, 4);
    EXPECT_TRUE(step.kernels[0].timing && step.kernels[0].predicted);
  }
  EXPECT_TRUE(run.methods.empty()) << "everything is kept";
}

TEST(MeasuredSteps, TellsTheErrorOfKeepingAPart) {
  const auto machine = make_host_machine(1);
  for (const bool compacts : {false, true}) {
    KernelShape shape = small_shape();
    shape.compacts = compacts;
    const auto made = measure_steps(*machine, {step_of(0, {200, 300}, 0.5)}, shape, kQuick);
    ASSERT_TRUE(made.ok()) << made.error().to_string();
    EXPECT_EQ(made.value().wrong, 0) << made.value().first_problem;
    ASSERT_EQ(made.value().methods.size(), 1U);
    const MethodError& error = made.value().methods.front();
    EXPECT_GT(error.predicted, 0.1);
    EXPECT_NEAR(error.measured, error.predicted, error.tolerance);
    for (const UnseenErrors& each : made.value().errors) EXPECT_EQ(each.errors.predicted, 1) << each.kernel;
  }
}

TEST(MeasuredSteps, LeavesNothingAfterAFault) {
  const auto measure = [&](const MachineFaults& faults, MachineWatch& watch) {
    const auto machine = make_fake_machine(faults, watch);
    return measure_steps(*machine, {step_of(0, {40, 60}, 0.5)}, small_shape(), kQuick);
  };
  MachineWatch all;
  ASSERT_TRUE(measure({}, all).ok());
  EXPECT_EQ(all.live, 0);
  ASSERT_GT(all.allocations, 20);
  for (std::int64_t at = 1; at <= all.allocations; at += 1 + all.allocations / 40) {
    MachineWatch watch;
    const auto made = measure({.no_memory_at = at}, watch);
    ASSERT_FALSE(made.ok()) << at;
    EXPECT_NE(made.error().message.find("no memory for "), std::string::npos);
    EXPECT_EQ(watch.live, 0) << at;
  }
  for (std::int64_t at = 1; at <= all.calls; at += 1 + all.calls / 40) {
    MachineWatch watch;
    const auto made = measure({.lost_at = at}, watch);
    ASSERT_FALSE(made.ok()) << at;
    EXPECT_NE(made.error().message.find("the device is lost"), std::string::npos);
    EXPECT_EQ(watch.live, 0) << at;
  }
}

TEST(MeasuredSteps, SeesAShortCopyAndOutlivesASlowCall) {
  std::int64_t wrong = 0;
  for (std::int64_t at = 1; at <= 4; ++at) {
    MachineWatch watch;
    const auto machine = make_fake_machine({.short_copy_at = at}, watch);
    const auto made = measure_steps(*machine, {step_of(0, {40, 60})}, small_shape(), kQuick);
    ASSERT_TRUE(made.ok()) << made.error().to_string();
    wrong += made.value().wrong;
  }
  EXPECT_GT(wrong, 0);
  MachineWatch watch;
  const auto machine = make_fake_machine({.slow_at = 2}, watch);
  const auto made = measure_steps(*machine, {step_of(0, {40, 60})}, small_shape(), kQuick);
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  EXPECT_EQ(made.value().wrong, 0);
}

}  // namespace
}  // namespace kvplan::validator
