// The host side of a probe on a fake device: which tables it makes, in what order and how often it measures, and how it
// handles errors of the device. Without a device the program says so (program_test.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "simulator/io/calibration.h"
#include "validator/probe/probe.h"

namespace kvplan {
namespace {

using validator::CopyPlaces;
using validator::DeviceFacts;
using validator::Direction;
using validator::Granularity;
using validator::MapTimes;
using validator::measure;
using validator::Measured;
using validator::PoolBytes;
using validator::ProbeDevice;
using validator::Quantiles;
using validator::quantiles_of;

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kPage = 2 * kMiB;

std::int64_t pages_of(std::int64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

struct FakeSetup {
  bool nvml{true}, batches{true};
  std::int64_t fails_at{0};  ///< this call and all later calls fail; counted from 1
  std::int64_t memory{80'000 * kMiB}, l2_bytes{50 * kMiB};
};

/// Memory in whole pages, times by formula, and a record of its calls in order.
class FakeProbe final : public ProbeDevice {
 public:
  explicit FakeProbe(FakeSetup setup) : setup_(setup), free_(setup.memory) {}

  Result<std::optional<std::int64_t>> nvml_free() override {
    KVPLAN_TRY_DO(called());
    if (!setup_.nvml) return std::optional<std::int64_t>();
    return std::optional(free_ + 7);  // differs from cudaMemGetInfo's count
  }
  Status make_context() override {
    KVPLAN_TRY_DO(called());
    EXPECT_FALSE(context_);
    context_ = true;
    free_ -= 500 * kMiB;
    return Done{};
  }
  Status launch_every_kernel() override {
    KVPLAN_TRY_DO(used());
    free_ -= kPage;
    return Done{};
  }
  Result<DeviceFacts> facts() override {
    KVPLAN_TRY_DO(used());
    return DeviceFacts{.name = "Fake \"1\"",
                       .sm_count = 4,
                       .l2_bytes = setup_.l2_bytes,
                       .visible_bytes = setup_.memory,
                       .sm_clock_mhz = 1980,
                       .memory_clock_mhz = 2619,
                       .driver = "1.2",
                       .toolkit = "3.4",
                       .kernel_build = "00ff"};
  }
  Result<std::int64_t> free_bytes() override {
    KVPLAN_TRY_DO(used());
    return free_;
  }
  Result<Granularity> granularity() override {
    KVPLAN_TRY_DO(used());
    return Granularity{kPage, kPage};
  }
  Result<std::uint64_t> allocate(std::int64_t bytes) override {
    KVPLAN_TRY_DO(used());
    return place(bytes, allocated_);
  }
  Status free_all() override {
    KVPLAN_TRY_DO(used());
    give_back(allocated_);
    return Done{};
  }
  Status open_pool(bool keep) override {
    KVPLAN_TRY_DO(used());
    EXPECT_FALSE(pool_open_);
    pool_open_ = true;
    keeps_ = keep;
    return Done{};
  }
  Result<std::uint64_t> pool_allocate(std::int64_t bytes) override {
    KVPLAN_TRY_DO(used());
    EXPECT_TRUE(pool_open_);
    pool_used_ += bytes;
    return place(bytes, pooled_);
  }
  Result<PoolBytes> pool_bytes() override {
    KVPLAN_TRY_DO(used());
    return PoolBytes{pooled_, pool_used_};
  }
  Status pool_free_all() override {
    KVPLAN_TRY_DO(used());
    pool_used_ = 0;
    return Done{};
  }
  Status synchronise() override {
    KVPLAN_TRY_DO(used());
    if (!keeps_ && pool_used_ == 0) give_back(pooled_);
    return Done{};
  }
  Status trim_pool() override {
    KVPLAN_TRY_DO(used());
    EXPECT_EQ(pool_used_, 0);
    give_back(pooled_);
    return Done{};
  }
  Status close_pool() override {
    KVPLAN_TRY_DO(used());
    EXPECT_TRUE(pool_open_);
    EXPECT_EQ(pool_used_, 0);
    give_back(pooled_);
    pool_open_ = false;
    return Done{};
  }
  Result<MapTimes> map_once(std::int64_t handles, std::int64_t handle_size) override {
    KVPLAN_TRY_DO(used());
    EXPECT_EQ(handle_size % kPage, 0);
    const auto n = static_cast<double>(handles);
    return MapTimes{.create = 29 * n, .map = 2 * n, .set_access = 38 * n, .unmap = 34 * n, .release = 23 * n};
  }
  Result<double> launch_ns(std::int64_t kernels, bool graph) override {
    KVPLAN_TRY_DO(used());
    return jittered(static_cast<double>(kernels) * (graph ? 1000 : 2500));
  }
  Status hold(std::int64_t device_bytes, std::int64_t host_bytes) override {
    KVPLAN_TRY_DO(used());
    EXPECT_EQ(held_, 0);
    EXPECT_LE(device_bytes, free_);
    held_ = device_bytes;
    held_on_host_ = host_bytes;
    return Done{};
  }
  Status drop() override {
    KVPLAN_TRY_DO(used());
    held_ = held_on_host_ = 0;
    return Done{};
  }
  Result<double> read_ns(std::int64_t offset, std::int64_t bytes) override {
    KVPLAN_TRY_DO(used());
    EXPECT_TRUE(offset >= 0 && offset % 16 == 0 && offset + bytes <= held_) << offset << " " << bytes;
    read_[bytes].push_back(offset);
    return jittered(static_cast<double>(bytes) / 3000);
  }
  Result<double> copy_ns(std::int64_t to, std::int64_t from, std::int64_t bytes) override {
    KVPLAN_TRY_DO(used());
    EXPECT_TRUE(from >= 0 && from + bytes <= to && to + bytes <= held_) << from << " " << to << " " << bytes;
    return jittered(static_cast<double>(bytes) / 1500);
  }
  [[nodiscard]] bool has_batches() const override { return setup_.batches; }
  Result<double> swap_ns(Direction direction, std::span<const CopyPlaces> places, std::int64_t bytes,
                         bool batch) override {
    KVPLAN_TRY_DO(used());
    if (swapped_.insert({places.size(), bytes}).second) expect_good(places, bytes);
    return jittered(static_cast<double>(places.size()) * (batch ? 100 : 2000) +
                    (direction == Direction::kIn ? 5000 : 4000));
  }

  [[nodiscard]] std::int64_t calls() const { return calls_; }
  [[nodiscard]] std::int64_t still_taken() const {
    return setup_.memory - 500 * kMiB - kPage - free_ + held_ + held_on_host_ + (pool_open_ ? 1 : 0);
  }
  /// Where reads of each size began, in order.
  [[nodiscard]] const std::map<std::int64_t, std::vector<std::int64_t>>& reads() const { return read_; }

 private:
  /// Checks that places are within the held memory and disjoint, and that no two consecutive ones could be one copy.
  void expect_good(std::span<const CopyPlaces> places, std::int64_t bytes) const {
    std::set<std::int64_t> device, host;
    for (std::size_t i = 0; i < places.size(); ++i) {
      EXPECT_LE(places[i].on_device + bytes, held_);
      EXPECT_LE(places[i].on_host + bytes, held_on_host_);
      device.insert(places[i].on_device);
      host.insert(places[i].on_host);
      const bool joined = i > 0 && places[i].on_device == places[i - 1].on_device + bytes &&
                          places[i].on_host == places[i - 1].on_host + bytes;
      EXPECT_FALSE(joined) << i;
    }
    expect_apart(device, bytes);
    expect_apart(host, bytes);
    EXPECT_EQ(device.size(), places.size());
    EXPECT_EQ(host.size(), places.size());
  }
  Status called() {
    ++calls_;
    if (setup_.fails_at > 0 && calls_ >= setup_.fails_at) return bad_input("fake: call fails");
    return Done{};
  }
  Status used() {
    EXPECT_TRUE(context_);
    return called();
  }
  std::uint64_t place(std::int64_t bytes, std::int64_t& taken) {
    const std::int64_t pages = pages_of(bytes);
    free_ -= pages;
    taken += pages;
    next_ += static_cast<std::uint64_t>(pages);
    return next_ - static_cast<std::uint64_t>(pages);
  }
  void give_back(std::int64_t& taken) {
    free_ += taken;
    taken = 0;
    next_ = std::uint64_t{0x7F00} << 32;
  }
  double jittered(double ns) { return ns + static_cast<double>(++jitter_ % 7); }
  static void expect_apart(const std::set<std::int64_t>& places, std::int64_t bytes) {
    std::int64_t end = 0;
    for (const std::int64_t place : places) {
      EXPECT_GE(place, end);
      end = place + bytes;
    }
  }

  FakeSetup setup_;
  std::int64_t free_;
  bool context_{false}, pool_open_{false}, keeps_{false};
  std::int64_t allocated_{0}, pooled_{0}, pool_used_{0}, held_{0}, held_on_host_{0}, calls_{0}, jitter_{0};
  std::uint64_t next_{std::uint64_t{0x7F00} << 32};
  std::map<std::int64_t, std::vector<std::int64_t>> read_;
  std::set<std::pair<std::size_t, std::int64_t>> swapped_;
};

Measured measured_of(FakeProbe& device, bool quick = false) {
  auto measured = measure(device, {.quick = quick, .when = "2026-11-22T04:05:06Z"});
  EXPECT_TRUE(measured.ok()) << measured.error().to_string();
  return std::move(measured).value();
}

io::Calibration read_back(const Measured& measured) {
  auto read = io::parse_calibration(to_json(measured), "probe.json");
  EXPECT_TRUE(read.ok()) << read.error().to_string();
  return std::move(read).value();
}

std::vector<double> numbers(const io::Calibration& c, std::string_view table, std::string_view column) {
  for (const io::CalibrationTable& t : c.tables)
    if (t.name == table) return t.column(column)->numbers;
  ADD_FAILURE() << table;
  return {};
}
std::vector<std::string> texts(const io::Calibration& c, std::string_view table, std::string_view column) {
  for (const io::CalibrationTable& t : c.tables)
    if (t.name == table) return t.column(column)->texts;
  ADD_FAILURE() << table;
  return {};
}

TEST(Probe, QuantilesAreThoseOfTheDefinition) {
  for (int n = 1; n <= 45; ++n) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back((i * 7919 % 101) / 4.0);
    const Quantiles q = quantiles_of(values);
    EXPECT_EQ(q.samples, n);
    EXPECT_LE(q.p10, q.median);
    EXPECT_LE(q.median, q.p90);
    const auto at_most = [&](double limit) {
      return std::count_if(values.begin(), values.end(), [&](double v) { return v <= limit; });
    };
    const auto least = [&](int tenths) {  // the smallest value that this many tenths do not exceed
      double found = std::numeric_limits<double>::infinity();
      for (const double v : values)
        if (10 * at_most(v) >= tenths * n) found = std::min(found, v);
      return found;
    };
    EXPECT_EQ(q.p10, least(1)) << n;
    EXPECT_EQ(q.p90, least(9)) << n;
    EXPECT_GE(2 * at_most(q.median), n) << n;
  }
  EXPECT_EQ(quantiles_of({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(quantiles_of({3, 1, 2}).median, 2);
}

TEST(Probe, TheSimulatorReadsAllTablesAsTheFormatHasThem) {
  for (const bool quick : {false, true}) {
    FakeProbe device({});
    const io::Calibration c = read_back(measured_of(device, quick));
    std::vector<std::string> names;
    for (const io::CalibrationTable& table : c.tables) {
      names.push_back(table.name);
      EXPECT_NE(io::known_table(table.name), nullptr) << table.name;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"granularity", "malloc", "pool", "pool-release", "vmm",
                                               "context", "bandwidth", "launch", "swap"}));
    EXPECT_EQ(c.when, "2026-11-22T04:05:06Z");
    EXPECT_EQ(c.made_by.rfind("kvplan-validate ", 0), 0U);
    EXPECT_EQ(c.device.name, "Fake \"1\"");
    EXPECT_EQ(c.device.l2_bytes, 50 * kMiB);
    EXPECT_EQ(c.device.visible_bytes, 80'000 * kMiB);
    EXPECT_EQ(c.device.sm_clock_mhz, 1980);
    EXPECT_EQ(c.device.memory_clock_mhz, 2619);
    EXPECT_EQ(c.software.engine, "kvplan");
    EXPECT_EQ(c.software.kernel_build, "00ff");
    EXPECT_TRUE(c.method.cold);
    EXPECT_FALSE(c.method.graph);
    EXPECT_EQ(c.method.least_samples, quick ? 5 : 10);
    EXPECT_TRUE(c.fits.empty());
    for (const char* table : {"bandwidth", "launch", "swap"})
      for (const double samples : numbers(c, table, "samples"))
        EXPECT_GE(samples, static_cast<double>(c.method.least_samples)) << table;
    EXPECT_EQ(device.still_taken(), 0);
  }
}

TEST(Probe, WhatWasMeasuredOnADeviceIsRead) {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(KVPLAN_SOURCE_DIR) + "/validator/measured")) {
    if (entry.is_directory()) continue;  // results of kernels: no calibrations
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto read = io::parse_calibration(text, entry.path().filename().string());
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    EXPECT_EQ(read.value().tables.size(), 9U);
  }
}

TEST(Probe, WhatIsAllocatedAndGivenBack) {
  FakeProbe device({});
  const io::Calibration c = read_back(measured_of(device));
  for (const char* table : {"malloc", "pool"}) {
    const auto requested = numbers(c, table, "requested"), step = numbers(c, table, "address_step"),
               taken = numbers(c, table, "free_taken");
    ASSERT_EQ(requested.size(), 46U);
    for (std::size_t i = 0; i < requested.size(); ++i) {
      const std::int64_t asked = (std::int64_t{256} << (i / 2)) + static_cast<std::int64_t>(i % 2);
      EXPECT_EQ(requested[i], static_cast<double>(asked));
      EXPECT_EQ(taken[i], static_cast<double>(pages_of(asked)));
      EXPECT_EQ(step[i], i == 0 ? 0 : taken[i - 1]);
    }
  }
  EXPECT_EQ(numbers(c, "pool", "used").back(), 2.0 * (1 << 30) * 2 - 2 * 256 + 23);
  EXPECT_GE(numbers(c, "pool", "reserved").back(), numbers(c, "pool", "used").back());
  EXPECT_EQ(texts(c, "pool-release", "threshold"),
            (std::vector<std::string>{"0", "0", "0", "max", "max", "max"}));
  EXPECT_EQ(texts(c, "pool-release", "moment"),
            (std::vector<std::string>{"free", "synchronise", "trim", "free", "synchronise", "trim"}));
  EXPECT_EQ(numbers(c, "pool-release", "free_returned"),
            (std::vector<double>{0, 256.0 * kMiB, 0, 0, 0, 256.0 * kMiB}));
}

TEST(Probe, MappingInManyHandlesAndInOne) {
  FakeProbe device({});
  const io::Calibration c = read_back(measured_of(device));
  EXPECT_EQ(numbers(c, "vmm", "handles"), (std::vector<double>{1, 4, 1, 16, 1, 64, 1, 256, 1}));
  const auto handles = numbers(c, "vmm", "handles"), size = numbers(c, "vmm", "handle_size");
  for (std::size_t i = 0; i < handles.size(); ++i) {
    EXPECT_EQ(size[i], i > 1 && i % 2 == 0 ? handles[i - 1] * size[i - 1] : kPage);
    EXPECT_EQ(numbers(c, "vmm", "create")[i], 29 * handles[i]);
    EXPECT_EQ(numbers(c, "vmm", "map")[i], 2 * handles[i]);
    EXPECT_EQ(numbers(c, "vmm", "set_access")[i], 38 * handles[i]);
    EXPECT_EQ(numbers(c, "vmm", "unmap")[i], 34 * handles[i]);
    EXPECT_EQ(numbers(c, "vmm", "release")[i], 23 * handles[i]);
  }
}

TEST(Probe, FreeMemoryBeforeAContextIsToldWhereNvmlIs) {
  FakeProbe with({});
  const io::Calibration c = read_back(measured_of(with));
  EXPECT_EQ(texts(c, "context", "moment"), (std::vector<std::string>{"before", "context", "launch"}));
  EXPECT_EQ(texts(c, "context", "source"), (std::vector<std::string>(3, "nvml")));
  const double all = 80'000.0 * kMiB + 7;
  EXPECT_EQ(numbers(c, "context", "free"),
            (std::vector<double>{all, all - 500.0 * kMiB, all - 502.0 * kMiB}));
  FakeProbe without({.nvml = false});
  const io::Calibration d = read_back(measured_of(without));
  EXPECT_EQ(texts(d, "context", "moment"), (std::vector<std::string>{"context", "launch"}));
  EXPECT_EQ(texts(d, "context", "source"), (std::vector<std::string>(2, "cudaMemGetInfo")));
}

/// Between two reads of a part, warm-ups included, more memory is read than any cache holds.
TEST(Probe, ReadsAreCold) {
  FakeProbe device({});
  const io::Calibration c = read_back(measured_of(device));
  EXPECT_EQ(texts(c, "bandwidth", "direction").size(), 16U);
  EXPECT_EQ(numbers(c, "bandwidth", "size").front(), 16.0 * kMiB);
  EXPECT_EQ(numbers(c, "bandwidth", "size").back(), 2048.0 * kMiB);
  ASSERT_EQ(device.reads().size(), 8U);
  for (const auto& [size, offsets] : device.reads()) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      for (std::size_t j = i + 1; j < offsets.size(); ++j) {
        if (offsets[j] != offsets[i]) continue;
        EXPECT_GE(static_cast<std::int64_t>(j - i) * size, 2048 * kMiB) << size;
        break;
      }
    }
  }
}

TEST(Probe, SwapsHaveARowForEachCase) {
  FakeProbe device({});
  const io::Calibration c = read_back(measured_of(device));
  std::set<std::tuple<double, double, std::string, std::string>> rows;
  for (std::size_t i = 0; i < texts(c, "swap", "method").size(); ++i)
    rows.insert({numbers(c, "swap", "descriptor")[i], numbers(c, "swap", "descriptors")[i],
                 texts(c, "swap", "direction")[i], texts(c, "swap", "method")[i]});
  EXPECT_EQ(rows.size(), texts(c, "swap", "method").size());
  EXPECT_EQ(rows.size(), 4U * (9 * 4 - 2));  // 256 KiB and 1 MiB, 2048 times, are more than the memory
  EXPECT_TRUE(rows.contains({28672, 2048, "in", "batch"}));
  FakeProbe old({.batches = false});
  const auto methods = texts(read_back(measured_of(old)), "swap", "method");
  EXPECT_EQ(std::set(methods.begin(), methods.end()), std::set<std::string>{"loop"});
}

TEST(Probe, ASmallDeviceLeavesOutWhatItHasNoRoomFor) {
  for (const bool cold : {true, false}) {
    FakeProbe device({.memory = 2'000 * kMiB, .l2_bytes = (cold ? 50 : 60) * kMiB});
    const io::Calibration c = read_back(measured_of(device));
    EXPECT_EQ(numbers(c, "bandwidth", "size").back(), 256.0 * kMiB);
    EXPECT_EQ(c.method.cold, cold);
    EXPECT_EQ(numbers(c, "malloc", "requested").back(), 128.0 * kMiB + 1);  // what came before is still taken
    EXPECT_EQ(numbers(c, "vmm", "handles").size(), 7U);
  }
  FakeProbe tiny({.memory = 503 * kMiB});
  const auto refused = measure(tiny, {.quick = true, .when = "2026-11-22T04:05:06Z"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("too little free memory"), std::string::npos);
}

TEST(Probe, ADevicesErrorEndsItWhereverItComes) {
  FakeProbe whole({});
  (void)measured_of(whole, true);
  ASSERT_GT(whole.calls(), 300);
  for (std::int64_t k = 1; k <= whole.calls(); ++k) {
    FakeProbe device({.fails_at = k});
    const auto measured = measure(device, {.quick = true, .when = "2026-11-22T04:05:06Z"});
    ASSERT_FALSE(measured.ok()) << k;
    EXPECT_EQ(measured.error().to_string(), "fake: call fails") << k;
    EXPECT_EQ(device.calls(), k);
  }
}

TEST(Probe, TheTextSaysWhatStandsOut) {
  FakeProbe device({});
  const std::string text = to_text(measured_of(device, true));
  for (const char* part :
       {"device                Fake \"1\", 4 SMs", "granularity           2097152 bytes at least",
        "free, before          83886080007 bytes (nvml)", "pool max, trim        268435456 bytes returned",
        "256 x 2097152 bytes: create 7.4, map 0.5", "read                  3000.0 GB/s, of 1073741824 bytes",
        "launch, graph         8 in 8.0 us", "swap 24"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Probe, MomentsAreInUniversalTime) {
  EXPECT_EQ(validator::utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(validator::utc_text(951'827'696), "2000-02-29T12:34:56Z");
}

}  // namespace
}  // namespace kvplan
