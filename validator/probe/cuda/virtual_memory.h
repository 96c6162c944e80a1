// Mapping memory by handles, with the driver's functions: looked up through the runtime, so that the program starts
// without a driver.
#pragma once

#include <cstdint>
#include <memory>

#include "simulator/base/result.h"
#include "validator/probe/probe_device.h"

namespace kvplan::validator {

/// Of device 0. REQUIRES: its context is the thread's, whenever it is called.
class VirtualMemory {
 public:
  /// Errors: the driver has not all of the functions.
  static Result<std::unique_ptr<VirtualMemory>> load();
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;
  ~VirtualMemory();

  Result<Granularity> granularity();
  /// ProbeDevice::map_once.
  Result<MapTimes> map_once(std::int64_t handles, std::int64_t handle_size);

 private:
  struct Functions;
  class Range;
  VirtualMemory();

  std::unique_ptr<Functions> functions_;
};

}  // namespace kvplan::validator
