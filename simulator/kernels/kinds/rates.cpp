#include "simulator/kernels/kinds/rates.h"

namespace kvplan::kernels {
namespace {

using model::DeviceFigure;

double value_or(const model::DeviceShape& device, DeviceFigure figure, double instead) {
  const auto& found = device.find(figure);
  return found && found->value > 0 ? static_cast<double>(found->value) : instead;
}

}  // namespace

double weight_bytes(std::string_view dtype) {
  if (dtype == "fp8_block") return 1 + 4.0 / (128 * 128);
  if (dtype.starts_with("nvfp4")) return 0.5 + 1.0 / 16;
  if (dtype.find("mxfp4") != std::string_view::npos) return 0.5 + 1.0 / 32;
  if (dtype.starts_with("int4")) return 0.5 + 2.0 / 128;
  if (dtype.starts_with("fp8") || dtype.starts_with("int8") || dtype == "sq") return 1;
  return 2;
}

double product_flops(const model::DeviceShape& device, std::string_view dtype) {
  const auto bf16 = static_cast<double>(device.at(DeviceFigure::kBf16Flops).value);
  const double fp8 = value_or(device, DeviceFigure::kFp8Flops, bf16);
  if (dtype.starts_with("fp8") || dtype == "sq" || dtype == "w4a8_mxfp4_mxfp8") return fp8;
  if (dtype.starts_with("nvfp4")) return value_or(device, DeviceFigure::kFp4Flops, 2 * fp8);
  return bf16;
}

double memory_rate(const model::DeviceShape& device) {
  return static_cast<double>(device.at(DeviceFigure::kBandwidth).value);
}

double link_rate(const model::DeviceShape& device) {
  constexpr double kPcie4 = 32e9;
  return value_or(device, DeviceFigure::kDeviceLink, value_or(device, DeviceFigure::kHostLink, kPcie4));
}

}  // namespace kvplan::kernels
