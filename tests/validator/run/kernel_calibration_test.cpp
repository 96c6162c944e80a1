// What is measured on the host can be loaded as a run loads it, and predicts rows that it has not seen.
#include "validator/run/kernel_calibration.h"

#include <gtest/gtest.h>

#include "simulator/io/measured_kernels.h"
#include "simulator/kernels/decode_times.h"
#include "validator/kernels/fake_machine.h"

namespace kvplan::validator {
namespace {

/// Attention on two KV heads.
Case attention(std::vector<std::int64_t> lengths) {
  Case of{.query_heads = 4, .kv_heads = 2};
  of.lengths = std::move(lengths);
  return of;
}

CalibrationCases small_cases() {
  CalibrationCases cases;
  for (const std::int64_t batch : {1, 4})
    for (const std::int64_t length : {128, 1024})
      cases.coarse.push_back(attention(equal_lengths(batch, length)));
  cases.unseen = {attention(equal_lengths(2, 512)), attention({100, 900, 300})};
  Case masked = attention(equal_lengths(4, 1024));
  masked.retained = Retained::kMask;
  masked.kept_of_1000 = 500;
  cases.fine = {masked, attention(equal_lengths(2, 256))};
  return cases;
}

TEST(KernelCalibration, IsReadAsARunReadsIt) {
  const auto machine = make_host_machine(1);
  const auto made = calibrate_kernels(*machine, small_cases(),
                                      {.seconds = 30, .quick = true, .when = "2026-11-28T00:00:00Z"});
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  EXPECT_EQ(made.value().rows.size(), 6U);
  EXPECT_EQ(made.value().unseen.size(), 2U);
  const auto read = io::parse_calibration(made.value().json(machine->facts()), "x");
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  ASSERT_EQ(read.value().fits.size(), 1U);
  EXPECT_EQ(read.value().fits.front().held_out_rows, 2);
  const auto measured = io::measured_kernels(read.value(), "x");
  ASSERT_TRUE(measured.ok()) << measured.error().to_string();
  const auto& tables = measured.value().tables;
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables.front().grid.measured(), 5U) << "the masked row is none of them";
  const kernels::DecodeTimes times(tables, {{tables.front().gpu}, tables.front().engine, {}});
  const auto exact = times({.batch = 4, .kv_len = 1024, .q_heads = 4, .kv_heads = 2});
  ASSERT_TRUE(exact.has_value());
  EXPECT_EQ(exact->source, kernels::TimeSource::kTable);
  EXPECT_NEAR(exact->us * 1e3, made.value().rows[3].timing.ns.median, 1e-6);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(made.value().predicted_ns[i].has_value());
    // The machine may be busy: what is checked is that a time of the right size comes out.
    EXPECT_LT(*made.value().predicted_ns[i] / made.value().unseen[i].timing.ns.median, 10);
    EXPECT_GT(*made.value().predicted_ns[i] / made.value().unseen[i].timing.ns.median, 0.1);
  }
}

TEST(KernelCalibration, SaysThatThereWasNoTime) {
  const auto machine = make_host_machine(1);
  const auto made = calibrate_kernels(*machine, small_cases(),
                                      {.seconds = 0, .quick = true, .when = "2026-11-28T00:00:00Z"});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().field, "--seconds");
}

/// Every call fails once: an error each time, and no memory is left.
TEST(KernelCalibration, LeavesNothingAfterAFault) {
  CalibrationCases cases;
  cases.coarse = {attention({64}), attention({256})};
  cases.unseen = {attention({128})};
  MachineWatch all;
  {
    const auto machine = make_fake_machine({}, all);
    ASSERT_TRUE(
        calibrate_kernels(*machine, cases, {.seconds = 30, .quick = true, .when = "2026-11-28T00:00:00Z"})
            .ok());
  }
  ASSERT_GT(all.allocations, 0);
  for (std::int64_t at = 1; at <= all.allocations; at += 3) {
    MachineWatch watch;
    const auto machine = make_fake_machine({.no_memory_at = at}, watch);
    EXPECT_FALSE(
        calibrate_kernels(*machine, cases, {.seconds = 30, .quick = true, .when = "2026-11-28T00:00:00Z"})
            .ok())
        << at;
    EXPECT_EQ(watch.live, 0) << at;
  }
  for (std::int64_t at = 1; at < 40; at += 5) {
    MachineWatch watch;
    const auto machine = make_fake_machine({.lost_at = at}, watch);
    EXPECT_FALSE(
        calibrate_kernels(*machine, cases, {.seconds = 30, .quick = true, .when = "2026-11-28T00:00:00Z"})
            .ok())
        << at;
    EXPECT_EQ(watch.live, 0) << at;
  }
}

TEST(MeasuredKernels, RefusesCalibrationsWithoutThem) {
  io::Calibration calibration;
  const auto none = io::measured_kernels(calibration, "x.json");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().to_string().find("decode-attention"), std::string::npos);
}

}  // namespace
}  // namespace kvplan::validator
