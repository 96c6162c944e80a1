#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "simulator/base/version.h"
#include "validator/kernels/host_launch.h"
#include "validator/kernels/machine.h"

namespace kvplan::validator {
namespace {

constexpr std::size_t kAlignment = 256;
/// Bytes that a guest can count on in a shared last-level cache. The twins' arithmetic takes longer than their reads.
constexpr std::int64_t kCacheBytes = 8 << 20;

std::int64_t system_figure(int name, std::int64_t otherwise) {
  const long value = ::sysconf(name);
  return value > 0 ? value : otherwise;
}

/// Processor time of all threads of this program together.
Result<double> processor_ns() {
  std::timespec now{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0)
    return bad_input("the processor time of this program cannot be read");
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void run_all(std::span<const Launch> launches, int threads) {
  for (const Launch& launch : launches)
    std::visit([threads](const auto& arguments) { launch_on_host(arguments, threads); }, launch);
}

class HostTimed final : public Timed {
 public:
  HostTimed(std::span<const Launch> launches, int threads)
      : launches_(launches.begin(), launches.end()), threads_(threads) {}
  Result<double> sample() override {
    KVPLAN_TRY(const double begin, processor_ns());
    run_all(launches_, threads_);
    KVPLAN_TRY(const double end, processor_ns());
    return (end - begin) / threads_;
  }

 private:
  std::vector<Launch> launches_;
  int threads_;
};

class HostMachine final : public Machine {
 public:
  explicit HostMachine(int threads) : threads_(threads) {
    facts_.name = "host, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    facts_.kernel_build = "host " + std::string(kVersion);
    facts_.sm_count = threads;
    facts_.cache_bytes = kCacheBytes;
    facts_.memory_bytes = system_figure(_SC_PHYS_PAGES, 1 << 18) * system_figure(_SC_PAGESIZE, 4096);
  }

  [[nodiscard]] const MachineFacts& facts() const override { return facts_; }
  Result<std::optional<Telemetry>> telemetry() override { return std::optional<Telemetry>{}; }
  Result<std::int64_t> free_bytes() override {
    return system_figure(_SC_AVPHYS_PAGES, 1 << 16) * system_figure(_SC_PAGESIZE, 4096);
  }

  Result<void*> allocate(Place /*place*/, std::int64_t bytes) override {
    const auto size = (static_cast<std::size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
    void* const memory = std::aligned_alloc(kAlignment, size);
    if (memory == nullptr) return bad_input("no memory for " + std::to_string(bytes) + " bytes");
    return memory;
  }
  void release(Place /*place*/, void* memory) override { std::free(memory); }
  Status upload(void* to, const void* from, std::int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return Done{};
  }
  Status download(void* to, const void* from, std::int64_t bytes) override { return upload(to, from, bytes); }
  Status set(void* to, std::uint8_t byte, std::int64_t bytes) override {
    std::memset(to, byte, static_cast<std::size_t>(bytes));
    return Done{};
  }
  Status make_up(void* to, const MadeUp& of, std::int64_t first, std::int64_t elements) override {
    make_up_on_host(to, of, first, elements, threads_);
    return Done{};
  }
  Status run(std::span<const Launch> launches) override {
    run_all(launches, threads_);
    return Done{};
  }
  Result<std::unique_ptr<Timed>> prepare(std::span<const Launch> launches) override {
    return std::unique_ptr<Timed>(std::make_unique<HostTimed>(launches, threads_));
  }

 private:
  int threads_;
  MachineFacts facts_;
};

}  // namespace

std::unique_ptr<Machine> make_host_machine(int threads) {
  return std::make_unique<HostMachine>(threads);
}

}  // namespace kvplan::validator
