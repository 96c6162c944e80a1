// The devices on which the tables were measured, with their published rates: what a device without tables is compared
// with. Figures are those of simulator/model/devices (a test compares them).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "simulator/model/device.h"

namespace kvplan::kernels {

struct MeasuredDevice {
  std::string_view gpu;                                  ///< as in names of tables
  std::string_view device;                               ///< name of its file
  double bandwidth, bf16_flops, fp8_flops, device_link;  ///< 0: none

  /// With these figures alone, for rooflines.
  [[nodiscard]] model::DeviceShape shape() const;
};

std::span<const MeasuredDevice> measured_devices();

/// All but the device itself, the most similar first: by the logarithms of their rates.
std::vector<const MeasuredDevice*> by_likeness(const model::DeviceShape& device);

/// Names of a device in tables: "h100" of "h100-sxm".
std::vector<std::string> names_in_tables(const model::DeviceShape& device);

}  // namespace kvplan::kernels
