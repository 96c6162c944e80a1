// The few NVML values that the CUDA runtime does not have, if the library is installed. It is loaded on demand: neither
// its headers nor the library are needed to build or start.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace kvplan::validator {

class Nvml {
 public:
  /// Null if the library, one of its functions or the device is missing. Also null if the device has much more memory
  /// than `total`: values would then cover all its parts (MIG). `pci_bus_id` as from cudaDeviceGetPCIBusId.
  static std::unique_ptr<Nvml> open(const std::string& pci_bus_id, std::uint64_t total);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// Bytes; nothing if the device does not report it.
  [[nodiscard]] std::optional<std::int64_t> free_bytes() const;
  /// "580.95.05"; empty if it is not reported.
  [[nodiscard]] std::string driver_version() const;

  /// State at this moment; 0 for values that the device does not report. `throttle_reasons` has the bits of
  /// nvmlDeviceGetCurrentClocksThrottleReasons.
  struct Telemetry {
    unsigned sm_clock_mhz{0}, memory_clock_mhz{0}, temperature_c{0}, power_mw{0};
    unsigned long long throttle_reasons{0};
  };
  [[nodiscard]] Telemetry telemetry() const;

 private:
  struct Functions;
  Nvml();

  void* library_{nullptr};
  bool begun_{false};
  void* device_{nullptr};
  std::unique_ptr<Functions> functions_;
};

}  // namespace kvplan::validator
