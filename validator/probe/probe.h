// Measures a CUDA device within a minute and writes a calibration file (simulator/io/CALIBRATION_FORMAT.md).
//
// Tables, in this order; sizes in bytes, times in nanoseconds:
//   granularity   as the driver reports it
//   malloc        cudaMalloc of 2^k and 2^k + 1 bytes, k = 8 to 30, none freed before the last. `free_taken`: how much
//                 cudaMemGetInfo's free memory fell. The first row has no address before it: its step is 0
//   pool          the same with cudaMallocFromPoolAsync, from a fresh pool that releases nothing; synchronised each
//                 time
//   pool-release  256 MiB in 4 pieces are freed to a pool: how much free memory rose when the frees were enqueued, then
//                 when the stream was synchronised, then when the pool was trimmed to 0; each since the moment before
//   vmm           host time of cuMemCreate, cuMemMap, cuMemSetAccess, cuMemUnmap, cuMemRelease: 1, 4, 16, 64 and 256
//                 handles of the least size, and one handle of the same total. Set-access is one call for the whole
//                 range, the others are one call for each handle. Medians
//   context       free memory before there is a context, with it, and after every kernel of the probe has run.
//                 cudaMemGetInfo itself needs a context, so all rows come from NVML (a column `source` says so) if it
//                 is installed; otherwise from cudaMemGetInfo, without a row `before`
//   bandwidth     one kernel that reads, or one copy on the device, of 16 MiB to 2 GiB; a copy of n bytes reads n and
//                 writes n. Between events, behind a kernel that spins until all is enqueued. Cold: each sample uses
//                 the next part of a memory of 4 GiB, so that no cache has it (a copy of 2 GiB has one)
//   launch        1, 8 and 64 empty kernels between events in an idle stream, launched one by one or as one graph;
//                 includes the host's time to enqueue them, where the device waits for it
//   swap          copies between pinned host memory and the device, 4 KiB to 1 MiB a descriptor, scattered over
//                 256 MiB; `loop`: one cudaMemcpyAsync for each; `batch`: one cudaMemcpyBatchAsync, if the toolkit
//                 has it. Between events in an idle stream, as `launch`
//
// Sizes that do not fit a smaller device (more than a quarter of its free memory) are left out.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "validator/probe/measured_table.h"
#include "validator/probe/probe_device.h"

namespace kvplan::validator {

struct ProbeOptions {
  bool quick{false};  ///< fewer sizes and samples: takes some seconds
  std::string when;   ///< as utc_text gives it
};

struct Measured {
  std::string when;
  DeviceFacts device;
  /// For `bandwidth`; false only if memory is so small that caches may hold a part of the data
  bool cold{false};
  std::int64_t least_samples{0};
  std::string stop_rule;
  std::vector<MeasuredTable> tables;

  /// The table of this name. REQUIRES: there is one.
  [[nodiscard]] const MeasuredTable& table(std::string_view name) const;
};

/// REQUIRES: a device without a context. Errors: the device's first error; the user asked to stop.
Result<Measured> measure(ProbeDevice& device, const ProbeOptions& options);

/// The text of the calibration file.
std::string to_json(const Measured& measured);
/// The main results as text, one line each.
std::string to_text(const Measured& measured);

/// Seconds since 1970 as text, such as 2026-11-22T04:05:06Z. REQUIRES: from 0 to the end of the year 9999.
std::string utc_text(std::int64_t seconds);

}  // namespace kvplan::validator
