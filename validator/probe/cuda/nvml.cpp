#include "validator/probe/cuda/nvml.h"

#include <dlfcn.h>

#include <type_traits>

namespace kvplan::validator {
namespace {

/// nvmlMemory_t of nvml.h.
struct Memory {
  unsigned long long total, free, used;
};

}  // namespace

/// Prototypes of nvml.h: nvmlReturn_t is an enum in which 0 is success, nvmlDevice_t a pointer.
struct Nvml::Functions {
  int (*init)();
  int (*shutdown)();
  int (*device_by_bus_id)(const char* pci_bus_id, void** device);
  int (*memory_of)(void* device, Memory* memory);
  int (*driver_version)(char* version, unsigned length);
  // These functions may be missing.
  int (*clock)(void* device, int type, unsigned* mhz);
  int (*temperature)(void* device, int sensor, unsigned* celsius);
  int (*power)(void* device, unsigned* milliwatts);
  int (*throttle_reasons)(void* device, unsigned long long* bits);
};

Nvml::Nvml() : functions_(std::make_unique<Functions>()) {}

Nvml::~Nvml() {
  if (begun_) (void)functions_->shutdown();
  if (library_ != nullptr) (void)::dlclose(library_);
}

std::unique_ptr<Nvml> Nvml::open(const std::string& pci_bus_id, std::uint64_t total) {
  std::unique_ptr<Nvml> nvml(new Nvml);
  nvml->library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (nvml->library_ == nullptr) return nullptr;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(nvml->library_, name));
    return function != nullptr;
  };
  Functions& f = *nvml->functions_;
  if (!load(f.init, "nvmlInit_v2") || !load(f.shutdown, "nvmlShutdown") ||
      !load(f.device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2") ||
      !load(f.memory_of, "nvmlDeviceGetMemoryInfo") || !load(f.driver_version, "nvmlSystemGetDriverVersion"))
    return nullptr;
  (void)load(f.clock, "nvmlDeviceGetClockInfo");
  (void)load(f.temperature, "nvmlDeviceGetTemperature");
  (void)load(f.power, "nvmlDeviceGetPowerUsage");
  (void)load(f.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  if (f.init() != 0) return nullptr;
  nvml->begun_ = true;
  if (f.device_by_bus_id(pci_bus_id.c_str(), &nvml->device_) != 0) return nullptr;
  Memory memory{};
  if (f.memory_of(nvml->device_, &memory) != 0 || memory.total > total + total / 10) return nullptr;
  return nvml;
}

std::optional<std::int64_t> Nvml::free_bytes() const {
  Memory memory{};
  if (functions_->memory_of(device_, &memory) != 0) return std::nullopt;
  return static_cast<std::int64_t>(memory.free);
}

std::string Nvml::driver_version() const {
  char version[96]{};  // NVML requires 80
  return functions_->driver_version(version, sizeof version - 1) == 0 ? version : "";
}

Nvml::Telemetry Nvml::telemetry() const {
  constexpr int kSmClock = 1, kMemoryClock = 2,
                kGpuSensor = 0;  // of nvmlClockType_t, nvmlTemperatureSensors_t
  const Functions& f = *functions_;
  Telemetry seen;
  if (f.clock != nullptr) {
    (void)f.clock(device_, kSmClock, &seen.sm_clock_mhz);
    (void)f.clock(device_, kMemoryClock, &seen.memory_clock_mhz);
  }
  if (f.temperature != nullptr) (void)f.temperature(device_, kGpuSensor, &seen.temperature_c);
  if (f.power != nullptr) (void)f.power(device_, &seen.power_mw);
  if (f.throttle_reasons != nullptr) (void)f.throttle_reasons(device_, &seen.throttle_reasons);
  return seen;
}

}  // namespace kvplan::validator
