// The device side of a replay: the same report as on the host, faults that are noticed, and, if there is a device, the
// kernels themselves.
#include <gtest/gtest.h>

#include "simulator/base/random.h"
#include "tests/validator/replays.h"
#include "validator/device/device.h"

namespace kvplan {
namespace {

using test::LogCase;
using test::replay;
using test::Stepping;
using validator::Faults;
using validator::Report;

void expect_same(const Report& a, const Report& b) {
  EXPECT_EQ(a.first_problem, b.first_problem);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.moments, b.moments);
  EXPECT_EQ(a.byte_mismatches, b.byte_mismatches);
  ASSERT_EQ(a.quantities.size(), b.quantities.size());
  for (std::size_t i = 0; i < a.quantities.size(); ++i)
    EXPECT_EQ(a.quantities[i].measured, b.quantities[i].measured) << a.quantities[i].name;
}

test::WholeLog log_of(const LogCase& c) {
  return test::read_log(test::log_of_run(test::random_trace(2), c, Stepping::kFast));
}

TEST(FakeDevice, ReportsAsTheHostDoes) {
  for (const LogCase& c : test::small_cases()) {
    SCOPED_TRACE(c.name);
    auto log = log_of(c);
    const auto fake = validator::make_device_backend(validator::make_fake_device());
    expect_same(replay(log), replay(log, *fake));
    // Mismatches are reported in the same way.
    for (auto& record : log.records) record.claims.totals[2] += record.claims.has_totals ? 5 : 0;
    const auto again = validator::make_device_backend(validator::make_fake_device());
    const Report wrong = replay(log, *again);
    EXPECT_GT(wrong.byte_mismatches, 0);
    expect_same(replay(log), wrong);
  }
}

TEST(FakeDevice, ExtentsAreCutForThreadsButCountedWhole) {
  // One range with more cells than one group of threads handles at once.
  LogCase c = test::small_cases()[9];
  c.scheduler.max_model_len = 9000;
  c.pool_tokens = 20000;
  ASSERT_EQ(c.name, "max");
  const auto fake = validator::make_device_backend(validator::make_fake_device());
  const auto log = log_of(c);
  EXPECT_EQ(replay(log, *fake).first_problem, "");
}

TEST(FakeDevice, NoMemoryIsAnErrorAtEveryAllocation) {
  const auto log = log_of(test::small_cases().front());
  for (const std::int64_t k : {1, 2}) {  // the cells, and what is sent to the device
    const auto fake = validator::make_device_backend(validator::make_fake_device({.no_memory_at = k}));
    EXPECT_NE(replay(log, *fake).first_problem.find("fake device: no memory for"), std::string::npos) << k;
  }
}

TEST(FakeDevice, ALostDeviceIsAnErrorWhereverItIsLost) {
  const auto log = log_of(test::small_cases().front());
  for (const std::int64_t k : {1, 2, 3, 4, 5, 6, 7, 50, 400}) {
    const auto fake = validator::make_device_backend(validator::make_fake_device({.lost_at = k}));
    EXPECT_EQ(replay(log, *fake).first_problem, "fake device: the device is lost") << k;
  }
}

TEST(FakeDevice, AFlippedStampIsFound) {
  for (const LogCase& c : test::small_cases()) {
    const auto log = log_of(c);
    for (const std::int64_t k : {1, 2, 7, 30}) {
      const auto fake = validator::make_device_backend(validator::make_fake_device({.flip_at_stamp = k}));
      const Report report = replay(log, *fake);
      // The first stamping fills free memory; if no tokens are stored, there is no other.
      const bool stamps = k == 1 || log.header.table_form != event_log::TableForm::kNothing;
      EXPECT_EQ(report.clean(), !stamps) << c.name << ", stamping " << k;
    }
  }
}

/// Skips the test if there is no device; then the device's error must be one clear line.
std::unique_ptr<validator::Backend> cuda() {
  auto device = validator::make_cuda_device();
  if (device.ok()) return validator::make_device_backend(std::move(device).value());
  const std::string text = device.error().to_string();
  EXPECT_TRUE(text.find("--backend: no CUDA device to replay on: ") == 0 ||
              text.find("--backend: this program was built without CUDA") == 0)
      << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  return nullptr;
}

TEST(CudaDevice, ReportsAsTheHostDoes) {
  if (cuda() == nullptr) GTEST_SKIP() << "no CUDA device here";
  for (const LogCase& c : test::small_cases()) {
    SCOPED_TRACE(c.name);
    const auto log = log_of(c);
    const auto backend = cuda();
    expect_same(replay(log), replay(log, *backend));
  }
}

TEST(CudaDevice, KernelsCountAsTheHostDoes) {
  const auto device = cuda();
  if (device == nullptr) GTEST_SKIP() << "no CUDA device here";
  const auto host = validator::make_host_backend();
  constexpr std::int64_t kCells = 1 << 16;
  constexpr std::int64_t kAllocUnit = 16;
  ASSERT_TRUE(device->reserve(kCells).ok());
  ASSERT_TRUE(host->reserve(kCells).ok());
  Random random(1, "kernels");
  std::vector<validator::Write> writes;
  std::vector<validator::View> views;
  std::vector<validator::Holding> holdings;
  std::vector<validator::Mark> marks;
  for (std::int64_t q = 0; q < kCells / kAllocUnit; ++q) {
    const std::uint64_t content = random.next();
    if (random.chance(1, 3)) {  // an extent of a request that follows a course
      validator::View view{q * kAllocUnit, kAllocUnit, content, 0, 0, 0, validator::Use::kHeld, 1};
      view.units = static_cast<std::int32_t>(random.between(1, 5));
      view.first_mark = static_cast<std::int64_t>(marks.size());
      view.rewritable = random.chance(1, 2) ? 1 : 0;
      view.others_used = random.chance(1, 2) ? 1 : 0;
      const bool idle = random.chance(1, 4);
      for (std::int64_t i = 0; i < kAllocUnit; ++i) {
        const std::int64_t offset = idle || random.chance(1, 3) ? -1 : random.between(0, 1000);
        if (offset >= 0) writes.push_back({q * kAllocUnit + i, 1, content, offset, 0});
        marks.push_back({offset + (offset >= 0 && random.chance(1, 200) ? 1 : 0), random.chance(1, 2) ? 1 : 0,
                         !idle && random.chance(1, 2) ? 1 : 0});
      }
      views.push_back(view);
      continue;
    }
    const std::int64_t filled = random.between(0, kAllocUnit);
    if (filled > 0) writes.push_back({q * kAllocUnit, filled, content, 0, 0});
    const auto use = static_cast<validator::Use>(random.below(3));
    const auto first = static_cast<std::int32_t>(holdings.size());
    const auto holders = static_cast<std::int32_t>(use == validator::Use::kHeld ? random.between(1, 3) : 0);
    for (std::int32_t h = 0; h < holders; ++h) {
      const std::int64_t base = random.between(0, 40);
      holdings.push_back({base, 3, base + random.between(0, 20), base + random.between(0, 20)});
    }
    views.push_back({q * kAllocUnit, kAllocUnit, random.chance(1, 50) ? content + 1 : content, 0, first,
                     holders, use, random.chance(1, 2) ? 1 : 0});
  }
  for (auto* backend : {device.get(), host.get()}) ASSERT_TRUE(backend->write(writes).ok());
  const auto counted = device->recount(views, holdings, marks);
  ASSERT_TRUE(counted.ok());
  EXPECT_TRUE(counted.value() == host->recount(views, holdings, marks).value());
  EXPECT_GT(counted.value().wrong, 0);
  EXPECT_GT(counted.value().internal, 0);
  EXPECT_GT(counted.value().padding, 0);
}

}  // namespace
}  // namespace kvplan
