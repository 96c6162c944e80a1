// Mapping memory by handles, with the driver's functions: looked up through the runtime, so that the program starts
// without a driver.
#pragma once

#include <cstdint>
#include <memory>

#include "simulator/base/result.h"
#include "validator/probe/probe_device.h"

namespace kvplan::validator {

/// Functions for device 0. REQUIRES: the device's context belongs to the thread at every call.
class VirtualMemory {
 public:
  /// Errors: the driver lacks some of the functions.
  static Result<std::unique_ptr<VirtualMemory>> load();
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;
  ~VirtualMemory();

  Result<Granularity> granularity();
  /// Implements ProbeDevice::map_once.
  Result<MapTimes> map_once(std::int64_t handles, std::int64_t handle_size);

 private:
  struct Functions;
  class Range;
  VirtualMemory();

  std::unique_ptr<Functions> functions_;
};

}  // namespace kvplan::validator
