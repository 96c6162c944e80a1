#include "simulator/kernels/kinds/rates.h"

#include <initializer_list>

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

std::vector<std::string_view> dtypes_like(std::string_view dtype) {
  std::vector<std::string_view> out{dtype};
  const auto add = [&](std::initializer_list<std::string_view> more) {
    for (const std::string_view each : more)
      if (each != dtype) out.push_back(each);
  };
  if (dtype == "w4a8_mxfp4_mxfp8") add({"w4a16_mxfp4", "nvfp4", "fp8"});
  if (dtype == "w4a16_mxfp4") add({"int4_wo", "w4a8_mxfp4_mxfp8"});
  if (dtype == "int4_wo") add({"w4a16_mxfp4", "int8_wo"});
  if (dtype == "nvfp4") add({"w4a8_mxfp4_mxfp8", "fp8"});
  if (dtype == "fp8" || dtype == "fp8_block" || dtype == "sq") add({"fp8", "fp8_block"});
  // Kernels of all-reduce stand in the same column.
  if (dtype.ends_with("_graph") || dtype == "TRTLLM")
    add({"vLLM_custom_graph", "SGLang_CustomAllReduce_graph", "TRTLLM"});
  if (dtype == "int8_wo") add({"int4_wo"});
  add({"bfloat16"});
  return out;
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
