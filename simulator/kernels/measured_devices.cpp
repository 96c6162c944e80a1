#include "simulator/kernels/measured_devices.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace kvplan::kernels {
namespace {

using model::DeviceFigure;

constexpr std::array<MeasuredDevice, 7> kDevices{{
    {"a100", "a100-sxm-80", 2.039e12, 312e12, 0, 300e9},
    {"b200", "b200-sxm", 7.672e12, 2250e12, 4500e12, 900e9},
    {"gb200", "gb200", 8e12, 2500e12, 5000e12, 900e9},
    {"h100", "h100-sxm", 3.35e12, 989e12, 1979e12, 450e9},
    {"h200", "h200-sxm", 4.8e12, 989e12, 1979e12, 450e9},
    {"l40s", "l40s", 0.864e12, 362.05e12, 733e12, 0},
    {"rtx-pro-6000", "rtx-pro-6000-server", 1.792e12, 467.8e12, 935.6e12, 0},
}};

/// How unlike two rates are; one that only one device has counts as a factor of four.
double unlike(double a, double b) {
  constexpr double kOnlyOne = 2;
  if (a <= 0 && b <= 0) return 0;
  return a <= 0 || b <= 0 ? kOnlyOne : std::abs(std::log2(a / b));
}

double figure_of(const model::DeviceShape& device, DeviceFigure figure) {
  const auto& found = device.find(figure);
  return found ? static_cast<double>(found->value) : 0;
}

}  // namespace

model::DeviceShape MeasuredDevice::shape() const {
  model::DeviceShape out;
  out.name = device;
  const auto set = [&](DeviceFigure figure, double value) {
    if (value > 0)
      out.figures[static_cast<std::size_t>(figure)] =
          model::Figure{std::llround(value), model::Mark::kPublished, {}};
  };
  set(DeviceFigure::kBandwidth, bandwidth);
  set(DeviceFigure::kBf16Flops, bf16_flops);
  set(DeviceFigure::kFp8Flops, fp8_flops);
  set(DeviceFigure::kDeviceLink, device_link);
  return out;
}

std::span<const MeasuredDevice> measured_devices() {
  return kDevices;
}

std::vector<const MeasuredDevice*> by_likeness(const model::DeviceShape& device) {
  struct Near {
    double distance;
    const MeasuredDevice* device;
  };
  std::vector<Near> near;
  for (const MeasuredDevice& each : kDevices) {
    if (each.device == device.name) continue;
    near.push_back({unlike(each.bandwidth, figure_of(device, DeviceFigure::kBandwidth)) +
                        unlike(each.bf16_flops, figure_of(device, DeviceFigure::kBf16Flops)) +
                        unlike(each.fp8_flops, figure_of(device, DeviceFigure::kFp8Flops)) +
                        unlike(each.device_link, figure_of(device, DeviceFigure::kDeviceLink)),
                    &each});
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const Near& a, const Near& b) { return a.distance < b.distance; });
  std::vector<const MeasuredDevice*> out;
  for (const Near& each : near) out.push_back(each.device);
  return out;
}

std::vector<std::string> names_in_tables(const model::DeviceShape& device) {
  std::vector<std::string> names = device.aliases;
  names.push_back(device.name);
  std::vector<std::string> out;
  for (const std::string& name : names) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    out.push_back(lower);
    for (const std::string_view form : {"-sxm-80", "-sxm", "-server"})
      if (lower.ends_with(form)) out.push_back(lower.substr(0, lower.size() - form.size()));
  }
  return out;
}

}  // namespace kvplan::kernels
