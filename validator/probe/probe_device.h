// The device functions that a probe needs: one measurement per call. The host side (probe.h) decides which measurements
// are made, how often, and how they are used, so tests can run it with a fake device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "simulator/base/result.h"

namespace kvplan::validator {

/// Facts that the driver reports about a device. Clocks are maximum clocks, not present ones.
struct DeviceFacts {
  std::string name;
  std::int64_t sm_count{0}, l2_bytes{0}, visible_bytes{0}, sm_clock_mhz{0}, memory_clock_mhz{0};
  std::string driver;        ///< "580.95.05 (CUDA 13.0)"; without NVML "CUDA 13.0"
  std::string toolkit;       ///< "13.0"
  std::string kernel_build;  ///< digest of the kernels' source, compiler and architecture
};

struct Granularity {
  std::int64_t minimum{0}, recommended{0};
};

struct PoolBytes {
  std::int64_t reserved{0}, used{0};
};

/// Nanoseconds of host time, summed over all handles. `set_access` is one call for the whole range, the others are one
/// call for each handle.
struct MapTimes {
  double create{0}, map{0}, set_access{0}, unmap{0}, release{0};
};

enum class Direction : std::uint8_t { kIn, kOut };  ///< to the device, from it

/// Source and target of one descriptor, in bytes from the beginning of the memory taken by `hold`.
struct CopyPlaces {
  std::int64_t on_device{0}, on_host{0};
};

/// Life cycle: made; `nvml_free` at any time; `make_context` once, then `launch_every_kernel` once; then the rest, in
/// any order. Times are nanoseconds. Every call returns when the device has done its work, except `pool_free_all`.
/// After an error the object may only be destroyed, which frees everything.
class ProbeDevice {
 public:
  virtual ~ProbeDevice() = default;

  /// The device's free memory from NVML, which needs no context. Nothing if there is no NVML.
  virtual Result<std::optional<std::int64_t>> nvml_free() = 0;
  virtual Status make_context() = 0;
  /// Launches each kernel of the probe once, since modules are loaded at first use; also creates stream and events.
  virtual Status launch_every_kernel() = 0;
  virtual Result<DeviceFacts> facts() = 0;
  /// Free memory from cudaMemGetInfo. All calls except `nvml_free` use that function.
  virtual Result<std::int64_t> free_bytes() = 0;

  virtual Result<Granularity> granularity() = 0;
  /// Calls cudaMalloc and returns the address.
  virtual Result<std::uint64_t> allocate(std::int64_t bytes) = 0;
  virtual Status free_all() = 0;

  /// Opens a separate pool. `keep` true: with the greatest release threshold, false: with 0. REQUIRES: the previous
  /// pool is closed.
  virtual Status open_pool(bool keep) = 0;
  virtual Result<std::uint64_t> pool_allocate(std::int64_t bytes) = 0;
  virtual Result<PoolBytes> pool_bytes() = 0;
  /// Enqueues the frees in the stream and does not wait.
  virtual Status pool_free_all() = 0;
  virtual Status synchronise() = 0;
  virtual Status trim_pool() = 0;
  /// REQUIRES: nothing is allocated from the pool.
  virtual Status close_pool() = 0;

  /// Reserves addresses, then times create, map, set-access, unmap and release of the handles; keeps nothing.
  virtual Result<MapTimes> map_once(std::int64_t handles, std::int64_t handle_size) = 0;

  /// Launches `kernels` empty kernels: from a graph made before, or one by one.
  virtual Result<double> launch_ns(std::int64_t kernels, bool graph) = 0;

  /// Allocates memory for the calls below, filled with random numbers: on the device, and pinned on the host. REQUIRES:
  /// no such memory is held.
  virtual Status hold(std::int64_t device_bytes, std::int64_t host_bytes) = 0;
  virtual Status drop() = 0;
  /// A kernel that reads [offset, offset + bytes) in pieces of 16 bytes. REQUIRES: whole pieces, inside held memory.
  virtual Result<double> read_ns(std::int64_t offset, std::int64_t bytes) = 0;
  virtual Result<double> copy_ns(std::int64_t to, std::int64_t from, std::int64_t bytes) = 0;
  /// True: `swap_ns` can copy as a batch.
  [[nodiscard]] virtual bool has_batches() const = 0;
  /// Copies `bytes` for each of the places, with one call for each, or with one call for all.
  virtual Result<double> swap_ns(Direction direction, std::span<const CopyPlaces> places, std::int64_t bytes,
                                 bool batch) = 0;
};

/// The first CUDA device, without a context yet. Errors: this build has no CUDA backend; there is no usable driver or
/// device.
Result<std::unique_ptr<ProbeDevice>> make_cuda_probe();

}  // namespace kvplan::validator
