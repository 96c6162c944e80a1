// The machine functions that kernel measurements need: memory, copies, launches and a clock. All decisions (cases,
// order, statistics, correctness) are made outside this interface (measure.h), so that they can be tested with the fake
// machine.
//
//   host   the host kernels on this machine's cores; always available. Its clock is processor time divided by threads,
//          so that times are meaningful on a busy machine
//   cuda   the first CUDA device
//   fake   the host with a device's interface and injected faults: for tests of everything above
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "simulator/base/result.h"
#include "validator/kernels/problem.h"

namespace kvplan::validator {

struct MachineFacts {
  std::string name;             ///< "NVIDIA H200", "host, 2 threads"
  std::string driver, toolkit;  ///< empty on the host
  std::string kernel_build;     ///< digest of the kernels' source with compiler and architecture
  std::int64_t sm_count{1};     ///< multiprocessors; on the host, threads
  std::int64_t cache_bytes{0};  ///< size of the last cache before memory
  std::int64_t memory_bytes{0};
  std::int64_t shared_bytes{0};  ///< shared memory limit of one thread block; 0 on the host
  std::int64_t sm_clock_mhz{0}, memory_clock_mhz{0};  ///< maximum clocks; 0: unknown
  double peak_bandwidth{0};  ///< bytes/s, from the vendor's data sheet if the device is known; 0: unknown
};

/// The state at one moment; every value is optional (NVML, if installed). kvplan never changes any setting.
struct Telemetry {
  std::int64_t sm_clock_mhz{0}, memory_clock_mhz{0}, temperature_c{0}, power_mw{0};
  std::uint64_t throttle_reasons{0};  ///< bits as nvmlDeviceGetCurrentClocksEventReasons returns them
};

/// Launches that can be timed repeatedly: on CUDA one graph, on the host the calls.
class Timed {
 public:
  virtual ~Timed() = default;
  /// Runs all launches once; returns nanoseconds.
  virtual Result<double> sample() = 0;
};

/// Addresses are the machine's. After an error the object can only be destroyed, which frees everything.
class Machine {
 public:
  virtual ~Machine() = default;
  [[nodiscard]] virtual const MachineFacts& facts() const = 0;
  virtual Result<std::optional<Telemetry>> telemetry() = 0;
  /// Bytes that can still be allocated.
  virtual Result<std::int64_t> free_bytes() = 0;

  virtual Result<void*> allocate(Place place, std::int64_t bytes) = 0;
  virtual void release(Place place, void* memory) = 0;
  virtual Status upload(void* to, const void* from, std::int64_t bytes) = 0;
  virtual Status download(void* to, const void* from, std::int64_t bytes) = 0;
  /// Sets every byte to `byte`.
  virtual Status set(void* to, std::uint8_t byte, std::int64_t bytes) = 0;
  /// Fills elements [0, elements) of the memory: element i with the made-up element `first + i` of `of`.
  virtual Status make_up(void* to, const MadeUp& of, std::int64_t first, std::int64_t elements) = 0;

  /// Runs the launches in order and waits.
  virtual Status run(std::span<const Launch> launches) = 0;
  /// Prepares launches that run in order, each after the one before.
  virtual Result<std::unique_ptr<Timed>> prepare(std::span<const Launch> launches) = 0;
};

std::unique_ptr<Machine> make_host_machine(int threads);
/// Errors: this build has no CUDA backend; no usable driver or device.
Result<std::unique_ptr<Machine>> make_cuda_machine();

}  // namespace kvplan::validator
