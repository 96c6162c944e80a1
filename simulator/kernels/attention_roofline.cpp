#include "simulator/kernels/attention_roofline.h"

#include <algorithm>

namespace kvplan::kernels {
namespace {

constexpr double kLaunchUs = 12;
constexpr double kBandwidthShare = 0.9;
constexpr double kFlopsShare = 0.6;
constexpr double kElementsPerMultiprocessor = 23e9;

/// What one call reads and computes.
struct Work {
  double elements{0};    ///< number of stored elements
  double elem_bytes{2};  ///< bytes of each element
  double in_and_out{0};  ///< bytes of queries and outputs
  double flops{0};
};

SourcedTime time_of(const Work& work, const model::DeviceShape& device) {
  using model::DeviceFigure;
  const auto figure = [&](DeviceFigure name) { return static_cast<double>(device.at(name).value); };
  double seconds = std::max((work.elements * work.elem_bytes + work.in_and_out) / bandwidth_reached(device),
                            work.flops / (kFlopsShare * figure(DeviceFigure::kBf16Flops)));
  if (work.elem_bytes < 2 && device.architecture == "sm_90" && device.find(DeviceFigure::kMultiprocessors))
    seconds = std::max(seconds,
                       work.elements / (kElementsPerMultiprocessor * figure(DeviceFigure::kMultiprocessors)));
  return {kLaunchUs + seconds * 1e6, TimeSource::kRoofline};
}

double seen_tokens(std::int64_t batch, std::int64_t kv_len, std::int64_t window) {
  const std::int64_t seen = window > 0 ? std::min(kv_len, window) : kv_len;
  return static_cast<double>(seen) * static_cast<double>(batch);
}

}  // namespace

double bandwidth_reached(const model::DeviceShape& device) {
  using model::DeviceFigure;
  const auto& reached = device.find(DeviceFigure::kBandwidthReached);
  return reached ? static_cast<double>(reached->value)
                 : kBandwidthShare * static_cast<double>(device.at(DeviceFigure::kBandwidth).value);
}

SourcedTime attention_roofline(const DecodeCall& call, const model::DeviceShape& device) {
  const double tokens = seen_tokens(call.batch, call.kv_len, call.window);
  const auto head_dim = static_cast<double>(call.head_dim);
  return time_of(
      {.elements = 2 * head_dim * static_cast<double>(call.kv_heads) * tokens,
       .elem_bytes = call.kv_elem_bytes,
       .in_and_out = 2 * 2 * head_dim * static_cast<double>(call.q_heads) * static_cast<double>(call.batch),
       .flops = 4 * head_dim * static_cast<double>(call.q_heads) * tokens},
      device);
}

SourcedTime latent_roofline(const LatentCall& call, const model::DeviceShape& device) {
  const double tokens = seen_tokens(call.batch, call.kv_len, call.window);
  const auto latent = static_cast<double>(call.latent_size);
  const auto row = latent + static_cast<double>(call.rope_size);
  const auto heads = static_cast<double>(call.q_heads);
  return time_of({.elements = row * tokens,
                  .elem_bytes = call.kv_elem_bytes,
                  .in_and_out = 2 * (row + latent) * heads * static_cast<double>(call.batch),
                  .flops = 2 * (row + latent) * heads * tokens},
                 device);
}

}  // namespace kvplan::kernels
