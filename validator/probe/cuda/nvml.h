// The few figures of NVML that the CUDA runtime does not have, where the library is installed. It is loaded when it is
// asked for: neither its headers nor the library are needed to build or to start.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace kvplan::validator {

class Nvml {
 public:
  /// Null where the library, a function of it or the device is not there, and where the device has much more memory
  /// than the `total` that is to be had of it: figures would be those of all its parts (MIG). `pci_bus_id` as
  /// cudaDeviceGetPCIBusId gives it.
  static std::unique_ptr<Nvml> open(const std::string& pci_bus_id, std::uint64_t total);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// Bytes; nothing where the device does not tell.
  [[nodiscard]] std::optional<std::int64_t> free_bytes() const;
  /// "580.95.05"; empty where it is not told.
  [[nodiscard]] std::string driver_version() const;

 private:
  struct Functions;
  Nvml();

  void* library_{nullptr};
  bool begun_{false};
  void* device_{nullptr};
  std::unique_ptr<Functions> functions_;
};

}  // namespace kvplan::validator
