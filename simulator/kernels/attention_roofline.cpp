#include "simulator/kernels/attention_roofline.h"

#include <algorithm>

namespace kvplan::kernels {
namespace {

constexpr double kLaunchUs = 12;
constexpr double kBandwidthShare = 0.9;
constexpr double kFlopsShare = 0.6;
constexpr double kElementsPerMultiprocessor = 23e9;

}  // namespace

SourcedTime attention_roofline(const DecodeCall& call, const model::DeviceShape& device) {
  using model::DeviceFigure;
  const auto figure = [&](DeviceFigure name) { return static_cast<double>(device.at(name).value); };
  const std::int64_t seen = call.window > 0 ? std::min(call.kv_len, call.window) : call.kv_len;
  const double tokens = static_cast<double>(seen) * static_cast<double>(call.batch);
  const auto head_dim = static_cast<double>(call.head_dim);
  const double elements = 2 * head_dim * static_cast<double>(call.kv_heads) * tokens;
  const double in_and_out =
      2 * 2 * head_dim * static_cast<double>(call.q_heads) * static_cast<double>(call.batch);
  const double bandwidth = device.find(DeviceFigure::kBandwidthReached)
                               ? figure(DeviceFigure::kBandwidthReached)
                               : kBandwidthShare * figure(DeviceFigure::kBandwidth);
  const double flops = 4 * head_dim * static_cast<double>(call.q_heads) * tokens;
  double seconds = std::max((elements * call.kv_elem_bytes + in_and_out) / bandwidth,
                            flops / (kFlopsShare * figure(DeviceFigure::kBf16Flops)));
  if (call.kv_elem_bytes < 2 && device.architecture == "sm_90" && device.find(DeviceFigure::kMultiprocessors))
    seconds =
        std::max(seconds, elements / (kElementsPerMultiprocessor * figure(DeviceFigure::kMultiprocessors)));
  return {kLaunchUs + seconds * 1e6, TimeSource::kRoofline};
}

}  // namespace kvplan::kernels
