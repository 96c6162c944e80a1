#include "validator/probe/probe.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/base/program.h"

namespace kvplan::validator {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = kKiB * kKiB;
constexpr std::int64_t kGiB = kKiB * kMiB;

/// How often something is timed: after warm-ups, until there are `most` samples, or `least` that add up to `enough_ns`.
struct Sampling {
  std::int64_t warm_ups, least, most;
  double enough_ns;
};
constexpr Sampling kThorough{.warm_ups = 2, .least = 10, .most = 50, .enough_ns = 2e8};
constexpr Sampling kQuick{.warm_ups = 1, .least = 5, .most = 10, .enough_ns = 5e7};

std::string stop_rule_of(const Sampling& s) {
  return std::to_string(s.most) + " samples, or " + std::to_string(s.least) + " and " +
         std::to_string(static_cast<std::int64_t>(s.enough_ns / 1e6)) + " ms of them, after " +
         std::to_string(s.warm_ups) + (s.warm_ups == 1 ? " warm-up" : " warm-ups");
}

MeasuredColumn in(std::string name, std::string unit) {
  return {.name = std::move(name), .unit = std::move(unit)};
}

std::vector<MeasuredColumn> with_quantiles(std::vector<MeasuredColumn> columns) {
  columns.push_back(in("samples", "count"));
  for (const char* name : {"median", "p10", "p90"}) columns.push_back(in(name, "ns"));
  return columns;
}

class Prober {
 public:
  Prober(ProbeDevice& device, const ProbeOptions& options)
      : device_(device), quick_(options.quick), sampling_(options.quick ? kQuick : kThorough) {
    out_.when = options.when;
    out_.least_samples = sampling_.least;
    out_.stop_rule = stop_rule_of(sampling_);
  }

  Result<Measured> measure() {
    MeasuredTable context("context", {in("moment", "text"), in("free", "bytes"), in("source", "text")});
    KVPLAN_TRY_DO(read_context(context));
    KVPLAN_TRY(out_.device, device_.facts());
    KVPLAN_TRY_DO(read_granularity());
    KVPLAN_TRY_DO(probe_malloc());
    KVPLAN_TRY_DO(probe_pool());
    KVPLAN_TRY_DO(probe_pool_release());
    KVPLAN_TRY_DO(time_mapping());
    out_.tables.push_back(std::move(context));
    KVPLAN_TRY_DO(time_bandwidth());
    KVPLAN_TRY_DO(time_launches());
    KVPLAN_TRY_DO(time_swaps());
    return std::move(out_);
  }

 private:
  /// Takes samples; `once` takes a single one.
  template <class Once>
  Result<std::vector<double>> sample(Once once) {
    std::vector<double> samples;
    double sum = 0;
    for (std::int64_t i = -sampling_.warm_ups;; ++i) {
      const auto taken = static_cast<std::int64_t>(samples.size());
      if (taken >= sampling_.most || (taken >= sampling_.least && sum >= sampling_.enough_ns)) return samples;
      if (interrupted()) return interrupted_error();
      KVPLAN_TRY(const double ns, once());
      if (i < 0) continue;
      samples.push_back(ns);
      sum += ns;
    }
  }

  Status read_context(MeasuredTable& table) {
    KVPLAN_TRY(const std::optional<std::int64_t> before, device_.nvml_free());
    if (before) table.add({"before", *before, "nvml"});
    const auto add = [&](std::string_view moment) -> Status {
      if (!before) {
        KVPLAN_TRY(const std::int64_t free, device_.free_bytes());
        table.add({moment, free, "cudaMemGetInfo"});
        return Done{};
      }
      KVPLAN_TRY(const std::optional<std::int64_t> seen, device_.nvml_free());
      if (!seen) return bad_input("NVML: the device's free memory can no longer be read");
      table.add({moment, *seen, "nvml"});
      return Done{};
    };
    KVPLAN_TRY_DO(device_.make_context());
    KVPLAN_TRY_DO(add("context"));
    KVPLAN_TRY_DO(device_.launch_every_kernel());
    return add("launch");
  }

  Status read_granularity() {
    KVPLAN_TRY(granularity_, device_.granularity());
    MeasuredTable table("granularity", {in("minimum", "bytes"), in("recommended", "bytes")});
    table.add({granularity_.minimum, granularity_.recommended});
    out_.tables.push_back(std::move(table));
    return Done{};
  }

  /// Calls `each` with every request that fits into memory, and with the free memory before it.
  template <class Each>
  Status each_request(Each each) {
    for (int k = 8; k <= 30; ++k) {
      for (const std::int64_t more : {0, 1}) {
        if (interrupted()) return interrupted_error();
        const std::int64_t bytes = (std::int64_t{1} << k) + more;
        KVPLAN_TRY(const std::int64_t free, device_.free_bytes());
        if (bytes > free / 4) return Done{};
        KVPLAN_TRY_DO(each(bytes, free));
      }
    }
    return Done{};
  }

  /// Distance from the address before; 0 if there is none.
  static std::int64_t step_from(std::optional<std::uint64_t>& before, std::uint64_t address) {
    const auto step = before ? static_cast<std::int64_t>(address - *before) : 0;
    before = address;
    return step;
  }

  Status probe_malloc() {
    MeasuredTable table("malloc",
                        {in("requested", "bytes"), in("address_step", "bytes"), in("free_taken", "bytes")});
    std::optional<std::uint64_t> before;
    KVPLAN_TRY_DO(each_request([&](std::int64_t bytes, std::int64_t free) -> Status {
      KVPLAN_TRY(const std::uint64_t address, device_.allocate(bytes));
      KVPLAN_TRY(const std::int64_t left, device_.free_bytes());
      table.add({bytes, step_from(before, address), free - left});
      return Done{};
    }));
    KVPLAN_TRY_DO(device_.free_all());
    return keep(std::move(table));
  }

  Status probe_pool() {
    MeasuredTable table("pool", {in("requested", "bytes"), in("address_step", "bytes"),
                                 in("free_taken", "bytes"), in("reserved", "bytes"), in("used", "bytes")});
    std::optional<std::uint64_t> before;
    KVPLAN_TRY_DO(device_.open_pool(true));
    KVPLAN_TRY_DO(each_request([&](std::int64_t bytes, std::int64_t free) -> Status {
      KVPLAN_TRY(const std::uint64_t address, device_.pool_allocate(bytes));
      KVPLAN_TRY(const std::int64_t left, device_.free_bytes());
      KVPLAN_TRY(const PoolBytes pool, device_.pool_bytes());
      table.add({bytes, step_from(before, address), free - left, pool.reserved, pool.used});
      return Done{};
    }));
    KVPLAN_TRY_DO(empty_pool());
    return keep(std::move(table));
  }

  Status empty_pool() {
    KVPLAN_TRY_DO(device_.pool_free_all());
    KVPLAN_TRY_DO(device_.synchronise());
    return device_.close_pool();
  }

  Status probe_pool_release() {
    MeasuredTable table("pool-release",
                        {in("threshold", "text"), in("moment", "text"), in("free_returned", "bytes")});
    KVPLAN_TRY(const std::int64_t room, device_.free_bytes());
    const std::int64_t piece = std::min(64 * kMiB, room / 16 / kMiB * kMiB);
    for (const bool kept : {false, true}) {
      KVPLAN_TRY_DO(device_.open_pool(kept));
      for (int i = 0; i < 4; ++i) KVPLAN_TRY_DO(device_.pool_allocate(piece));
      KVPLAN_TRY(std::int64_t before, device_.free_bytes());
      const auto add = [&](std::string_view moment) -> Status {
        KVPLAN_TRY(const std::int64_t now, device_.free_bytes());
        table.add({kept ? "max" : "0", moment, now - before});
        before = now;
        return Done{};
      };
      KVPLAN_TRY_DO(device_.pool_free_all());
      KVPLAN_TRY_DO(add("free"));
      KVPLAN_TRY_DO(device_.synchronise());
      KVPLAN_TRY_DO(add("synchronise"));
      KVPLAN_TRY_DO(device_.trim_pool());
      KVPLAN_TRY_DO(add("trim"));
      KVPLAN_TRY_DO(device_.close_pool());
    }
    return keep(std::move(table));
  }

  Status time_mapping() {
    MeasuredTable table(
        "vmm", {in("handles", "count"), in("handle_size", "bytes"), in("create", "ns"), in("map", "ns"),
                in("set_access", "ns"), in("unmap", "ns"), in("release", "ns")});
    KVPLAN_TRY(const std::int64_t free, device_.free_bytes());
    const auto add = [&](std::int64_t handles, std::int64_t size) -> Status {
      if (handles * size > free / 4) return Done{};
      std::vector<MapTimes> all;  // warm-ups too
      KVPLAN_TRY(const auto samples, sample([&]() -> Result<double> {
                   KVPLAN_TRY(const MapTimes t, device_.map_once(handles, size));
                   all.push_back(t);
                   return t.create + t.map + t.set_access + t.unmap + t.release;
                 }));
      all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(samples.size()));
      const auto median = [&](double MapTimes::*part) {
        std::vector<double> times;
        for (const MapTimes& t : all) times.push_back(t.*part);
        return quantiles_of(std::move(times)).median;
      };
      table.add({handles, size, median(&MapTimes::create), median(&MapTimes::map),
                 median(&MapTimes::set_access), median(&MapTimes::unmap), median(&MapTimes::release)});
      return Done{};
    };
    for (const std::int64_t handles : {1, 4, 16, 64, 256}) {
      KVPLAN_TRY_DO(add(handles, granularity_.minimum));
      if (handles > 1) KVPLAN_TRY_DO(add(1, handles * granularity_.minimum));
    }
    return keep(std::move(table));
  }

  Status time_bandwidth() {
    MeasuredTable table("bandwidth", with_quantiles({in("direction", "text"), in("size", "bytes")}));
    KVPLAN_TRY(const std::int64_t free, device_.free_bytes());
    std::int64_t half = 2 * kGiB;
    while (half > free / 4) half /= 2;
    if (half < 16 * kMiB)
      return bad_input("the device has " + std::to_string(free) + " bytes free: too little to measure");
    // Copies go from the lower half to the upper one. Factor 5: the data of a copy is never what was just used.
    out_.cold = half >= 5 * out_.device.l2_bytes;
    KVPLAN_TRY_DO(device_.hold(2 * half, 0));
    KVPLAN_TRY_DO(sample([&] { return device_.read_ns(0, half); }));  // lets clocks rise; times are dropped
    for (const bool read : {true, false}) {
      std::int64_t part = 0;
      for (std::int64_t size = 16 * kMiB; size <= half; size *= quick_ ? 4 : 2) {
        KVPLAN_TRY(const auto samples, sample([&] {
                     const std::int64_t parts = (read ? 2 * half : half) / size;
                     const std::int64_t at = part++ % parts * size;
                     return read ? device_.read_ns(at, size) : device_.copy_ns(half + at, at, size);
                   }));
        const Quantiles q = quantiles_of(samples);
        table.add({read ? "read" : "copy", size, q.samples, q.median, q.p10, q.p90});
      }
    }
    KVPLAN_TRY_DO(device_.drop());
    return keep(std::move(table));
  }

  Status time_launches() {
    MeasuredTable table("launch", with_quantiles({in("kernels", "count"), in("from", "text")}));
    for (const bool graph : {false, true}) {
      for (const std::int64_t kernels : {1, 8, 64}) {
        KVPLAN_TRY(const auto samples, sample([&] { return device_.launch_ns(kernels, graph); }));
        const Quantiles q = quantiles_of(samples);
        table.add({kernels, graph ? "graph" : "stream", q.samples, q.median, q.p10, q.p90});
      }
    }
    return keep(std::move(table));
  }

  Status time_swaps() {
    MeasuredTable table("swap", with_quantiles({in("descriptor", "bytes"), in("descriptors", "count"),
                                                in("direction", "text"), in("method", "text")}));
    KVPLAN_TRY(const std::int64_t free, device_.free_bytes());
    std::int64_t room = 256 * kMiB;
    while (room > free / 4) room /= 2;
    KVPLAN_TRY_DO(device_.hold(room, room));
    const std::vector<std::int64_t> sizes =
        quick_ ? std::vector<std::int64_t>{4, 32, 256}
               : std::vector<std::int64_t>{4, 8, 16, 24, 28, 32, 64, 256, 1024};
    const std::vector<std::int64_t> counts =
        quick_ ? std::vector<std::int64_t>{1, 256} : std::vector<std::int64_t>{1, 16, 256, 2048};
    for (const bool batch : {false, true}) {
      if (batch && !device_.has_batches()) continue;
      for (const Direction direction : {Direction::kIn, Direction::kOut}) {
        for (const std::int64_t kib : sizes) {
          for (const std::int64_t count : counts) {
            const std::int64_t bytes = kib * kKiB;
            if (count * bytes > room) continue;
            const auto places = scattered(count, room);
            KVPLAN_TRY(const auto samples,
                       sample([&] { return device_.swap_ns(direction, places, bytes, batch); }));
            const Quantiles q = quantiles_of(samples);
            table.add({bytes, count, direction == Direction::kIn ? "in" : "out", batch ? "batch" : "loop",
                       q.samples, q.median, q.p10, q.p90});
          }
        }
      }
    }
    KVPLAN_TRY_DO(device_.drop());
    return keep(std::move(table));
  }

  /// Equal shares of the held memory, in different orders on the two sides, so that no two descriptors can be joined.
  /// REQUIRES: `count` is a power of two, so that odd steps visit every share once.
  static std::vector<CopyPlaces> scattered(std::int64_t count, std::int64_t room) {
    std::vector<CopyPlaces> places;
    const std::int64_t share = room / count;
    for (std::int64_t i = 0; i < count; ++i)
      places.push_back({.on_device = i * 5 % count * share, .on_host = i * 3 % count * share});
    return places;
  }

  /// Stores a table. A table without rows is an error: the device then has too little free memory.
  Status keep(MeasuredTable table) {
    if (table.rows() == 0)
      return bad_input("too little free memory on the device to measure \"" + table.name() + "\"");
    out_.tables.push_back(std::move(table));
    return Done{};
  }

  ProbeDevice& device_;
  bool quick_;
  Sampling sampling_;
  Granularity granularity_;
  Measured out_;
};

}  // namespace

const MeasuredTable& Measured::table(std::string_view name) const {
  const auto found =
      std::find_if(tables.begin(), tables.end(), [&](const MeasuredTable& t) { return t.name() == name; });
  KVPLAN_CHECK(found != tables.end());
  return *found;
}

Result<Measured> measure(ProbeDevice& device, const ProbeOptions& options) {
  return Prober(device, options).measure();
}

}  // namespace kvplan::validator
