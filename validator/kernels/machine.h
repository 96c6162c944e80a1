// What measuring kernels needs of a machine: memory, copies, launches and a clock. Everything that decides (cases,
// order, statistics, what is right) is on the other side of this border (measure.h), so that it runs against the fake
// one.
//
//   host   the kernels' twins on this machine's cores; always there
//   cuda   the first CUDA device
//   fake   the host behind a device's manners, with faults: tests of everything above
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
  std::int64_t sm_count{1};     ///< multiprocessors; threads on the host
  std::int64_t cache_bytes{0};  ///< of the last cache before memory
  std::int64_t memory_bytes{0};
  std::int64_t sm_clock_mhz{0}, memory_clock_mhz{0};  ///< the highest that it may have; 0: not known
  double peak_bandwidth{0};  ///< bytes/s, of the vendor's data sheet where the device is known; 0: not known
};

/// At one moment; all of it optional (NVML, where it is installed). Nothing is ever set.
struct Telemetry {
  std::int64_t sm_clock_mhz{0}, memory_clock_mhz{0}, temperature_c{0}, power_mw{0};
  std::uint64_t throttle_reasons{0};  ///< bits as nvmlDeviceGetCurrentClocksEventReasons gives them
};

/// Launches that can be timed again and again: on CUDA one graph, on the host the calls.
class Timed {
 public:
  virtual ~Timed() = default;
  /// Nanoseconds of all launches, once.
  virtual Result<double> sample() = 0;
};

/// Addresses are the machine's. After an error the object is only destroyed, which gives everything back.
class Machine {
 public:
  virtual ~Machine() = default;
  [[nodiscard]] virtual const MachineFacts& facts() const = 0;
  virtual Result<std::optional<Telemetry>> telemetry() = 0;
  /// Bytes that can still be had.
  virtual Result<std::int64_t> free_bytes() = 0;

  virtual Result<void*> allocate(Place place, std::int64_t bytes) = 0;
  virtual void release(Place place, void* memory) = 0;
  virtual Status upload(void* to, const void* from, std::int64_t bytes) = 0;
  virtual Status download(void* to, const void* from, std::int64_t bytes) = 0;
  /// Every byte.
  virtual Status set(void* to, std::uint8_t byte, std::int64_t bytes) = 0;
  /// Element i of [0, elements) of the memory is what `of` makes up for element `first + i`.
  virtual Status make_up(void* to, const MadeUp& of, std::int64_t first, std::int64_t elements) = 0;

  /// Runs them in order and waits.
  virtual Status run(std::span<const Launch> launches) = 0;
  /// In order, each after the one before.
  virtual Result<std::unique_ptr<Timed>> prepare(std::span<const Launch> launches) = 0;
};

std::unique_ptr<Machine> make_host_machine(int threads);
/// Errors: this build has no CUDA backend; there is no driver, or no device, that it can use.
Result<std::unique_ptr<Machine>> make_cuda_machine();

}  // namespace kvplan::validator
