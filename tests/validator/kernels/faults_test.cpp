// Faults of devices at every call: each is reported, and no memory remains allocated.
#include <gtest/gtest.h>

#include <filesystem>

#include "validator/kernels/fake_machine.h"
#include "validator/kernels/measure.h"
#include "validator/kernels/stages.h"

namespace kvplan::validator {
namespace {

Case small_case() {
  Case of{.query_heads = 4, .kv_heads = 2, .head_size = 64};
  of.lengths = {40, 70};
  of.rule = 8;  // with splits
  return of;
}

TEST(Faults, NoMemoryAtEveryAllocation) {
  MachineWatch all;
  ASSERT_TRUE(check_case(*make_fake_machine({}, all), small_case()).ok());
  ASSERT_GT(all.allocations, 8);
  EXPECT_EQ(all.live, 0);
  for (std::int64_t at = 1; at <= all.allocations; ++at) {
    MachineWatch watch;
    const auto checked = check_case(*make_fake_machine({.no_memory_at = at}, watch), small_case());
    ASSERT_FALSE(checked.ok()) << at;
    EXPECT_NE(checked.error().message.find("no memory for "), std::string::npos);
    EXPECT_EQ(watch.live, 0) << at;
  }
}

TEST(Faults, LostAtEveryCall) {
  for (const bool timed : {false, true}) {
    const auto once = [&](const MachineFaults& faults, MachineWatch& watch) -> Status {
      const auto machine = make_fake_machine(faults, watch);
      if (timed) {
        KVPLAN_TRY_DO(time_case(*machine, small_case(), false, {.warm_ups = 1, .least = 3, .most = 3}));
      } else {
        KVPLAN_TRY_DO(check_case(*machine, small_case()));
      }
      return Done{};
    };
    MachineWatch all;
    ASSERT_TRUE(once({}, all).ok());
    for (std::int64_t at = 1; at <= all.calls; ++at) {
      MachineWatch watch;
      const Status done = once({.lost_at = at}, watch);
      ASSERT_FALSE(done.ok()) << at;
      EXPECT_NE(done.error().message.find("lost"), std::string::npos);
      EXPECT_EQ(watch.live, 0) << at;
      EXPECT_EQ(watch.calls, at) << "goes on after the device is lost";
    }
  }
}

/// A copy back to the host without its last byte.
TEST(Faults, ShortCopiesAreNoticed) {
  Case of{.kernel = "compaction"};
  of.retained = Retained::kList;
  of.lengths = {40};
  of.kv_heads = of.query_heads = 1;
  of.page_tokens = 8;
  MachineWatch all;
  ASSERT_TRUE(check_case(*make_fake_machine({}, all), of).ok());
  int noticed = 0;
  for (std::int64_t at = 1; at <= all.copies; ++at) {
    MachineWatch watch;
    const auto checked = check_case(*make_fake_machine({.short_copy_at = at}, watch), of);
    EXPECT_EQ(watch.live, 0);
    noticed += checked.ok() && !checked.value().comparison.good ? 1 : 0;
  }
  EXPECT_EQ(all.copies, 4);  // two results of two runs
  EXPECT_EQ(noticed, 4);
}

TEST(Faults, StagesSayWhatWentWrongAndLeaveWhatIsDone) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "kvplan_stages_lost";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const StageOptions options{.folder = folder.string(),
                             .seconds = 60,
                             .stages = {Stage::kSanitize, Stage::kMemory},
                             .kernel = "append",
                             .when = "2026-11-28T00:00:00Z",
                             .quick = true};
  std::vector<std::string> said;
  const auto say = [&](const std::string& line) { said.push_back(line); };
  MachineWatch all;
  const auto good = run_stages(*make_fake_machine({}, all), options, say);
  ASSERT_TRUE(good.ok()) << good.error().to_string();
  EXPECT_TRUE(good.value());
  EXPECT_TRUE(std::filesystem::exists(folder / "sanitize.json"));
  EXPECT_TRUE(std::filesystem::exists(folder / "memory.json"));
  EXPECT_EQ(all.live, 0);
  // A second run: both stages are skipped, and the machine is not used.
  MachineWatch none;
  ASSERT_TRUE(run_stages(*make_fake_machine({}, none), options, say).ok());
  EXPECT_EQ(none.allocations, 0);
  EXPECT_EQ(said.back(), "memory: done before");
  // The device is lost in the middle of the first stage: the stage has no file.
  std::filesystem::remove(folder / "sanitize.json");
  std::filesystem::remove(folder / "memory.json");
  MachineWatch lost;
  EXPECT_FALSE(run_stages(*make_fake_machine({.lost_at = all.calls / 2}, lost), options, say).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "sanitize.json"));
  EXPECT_EQ(lost.live, 0);
  // Out of memory in the second stage: the first file stays, and the next run continues.
  MachineWatch full;
  EXPECT_FALSE(
      run_stages(*make_fake_machine({.no_memory_at = all.allocations - 3}, full), options, say).ok());
  EXPECT_TRUE(std::filesystem::exists(folder / "sanitize.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "memory.json"));
  EXPECT_EQ(full.live, 0);
  MachineWatch rest;
  ASSERT_TRUE(run_stages(*make_fake_machine({}, rest), options, say).ok());
  EXPECT_TRUE(std::filesystem::exists(folder / "memory.json"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kvplan::validator
