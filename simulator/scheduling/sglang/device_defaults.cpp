// What SGLang's server sets by the memory of its device (sgl-project/sglang v0.5.5, srt/server_args.py,
// _handle_gpu_memory_settings).
#include <array>

#include "simulator/scheduling/sglang/parts.h"

namespace kvplan::scheduling::sglang {
namespace {

struct Size {
  std::int64_t below_mib;
  std::int64_t chunk;             ///< chunked_prefill_size
  double graphs, graphs_of_many;  ///< cuda_graph_max_bs; from four ranks on
};

constexpr std::int64_t kMibOfGib = 1024;
constexpr std::array<Size, 5> kSizes{{{20 * kMibOfGib, 2048, 8, 8},
                                      {35 * kMibOfGib, 2048, 24, 80},
                                      {60 * kMibOfGib, 4096, 32, 160},
                                      {160 * kMibOfGib, 8192, 256, 512},
                                      {INT64_MAX, 16384, 512, 512}}};

const Size& size_of(const model::DeviceShape& device) {
  std::size_t i = 0;
  while (memory_mib(device) >= kSizes.at(i).below_mib) ++i;
  return kSizes.at(i);
}

}  // namespace

std::int64_t memory_mib(const model::DeviceShape& device) {
  const auto& reported = device.find(model::DeviceFigure::kReportedBytes);
  return (reported ? *reported : device.at(model::DeviceFigure::kUsableBytes)).value >> 20;
}

double graph_requests(const model::DeviceShape& device, std::int64_t tensor_ranks) {
  const Size& size = size_of(device);
  return tensor_ranks < 4 ? size.graphs : size.graphs_of_many;
}

std::vector<ServerDefault> defaults_on(const model::DeviceShape& device) {
  return {{"chunked_prefill_size", size_of(device).chunk}};
}

}  // namespace kvplan::scheduling::sglang
