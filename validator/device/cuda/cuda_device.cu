// The device of a replay in CUDA: one stamping and one recounting kernel, both with a warp for each extent.
#include <cuda_runtime.h>

#include <algorithm>

#include "validator/device/cuda/cuda_calls.h"
#include "validator/device/device.h"

namespace kvplan::validator {
namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;

__global__ void stamp_extents(Stamp* cells, const Write* writes, std::int64_t count) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / kWarp;
  for (std::int64_t w = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp; w < count;
       w += warps) {
    const Write write = writes[w];
    for (std::int64_t i = lane; i < write.cells; i += kWarp)
      cells[write.first_cell + i] =
          write.poison != 0 ? kPoison : stamp_of(write.content, write.first_offset + i);
  }
}

__device__ std::int64_t sum_of_warp(std::int64_t value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_down_sync(0xFFFF'FFFFU, value, step);
  return value;
}

__device__ void add(std::int64_t& total, std::int64_t value) {
  if (value != 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(&total), static_cast<unsigned long long>(value));
}

__global__ void recount_views(const Stamp* cells, const View* views, std::int64_t count,
                              const Holding* holdings, const Mark* marks, CellCounts* totals) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / kWarp;
  for (std::int64_t v = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp; v < count;
       v += warps) {
    const View view = views[v];
    const CellCounts own = count_view(view, holdings, cells + view.first_cell, marks, lane, kWarp);
    CellCounts sum;
    sum.live = sum_of_warp(own.live);
    sum.reserved = sum_of_warp(own.reserved);
    sum.hole = sum_of_warp(own.hole);
    sum.tail = sum_of_warp(own.tail);
    sum.padding = sum_of_warp(own.padding);
    sum.internal = sum_of_warp(own.internal);
    sum.cached = sum_of_warp(own.cached);
    sum.free = sum_of_warp(own.free);
    sum.wrong = sum_of_warp(own.wrong);
    if (lane != 0) continue;
    settle_view(view, sum);
    add(totals->live, sum.live);
    add(totals->reserved, sum.reserved);
    add(totals->hole, sum.hole);
    add(totals->tail, sum.tail);
    add(totals->padding, sum.padding);
    add(totals->internal, sum.internal);
    add(totals->cached, sum.cached);
    add(totals->free, sum.free);
    add(totals->wrong, sum.wrong);
  }
}

unsigned blocks_for(std::int64_t extents) {
  constexpr std::int64_t kWarpsPerBlock = kThreads / kWarp;
  return static_cast<unsigned>(std::min<std::int64_t>((extents + kWarpsPerBlock - 1) / kWarpsPerBlock, 8192));
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::string name() const override { return name_; }
  Result<void*> allocate(std::int64_t bytes) override {
    void* memory = nullptr;
    KVPLAN_TRY_DO(checked(cudaMalloc(&memory, static_cast<std::size_t>(bytes)),
                          ("no memory for " + std::to_string(bytes) + " bytes").c_str()));
    return memory;
  }
  void release(void* memory) override { (void)cudaFree(memory); }
  Status upload(void* to, const void* from, std::int64_t bytes) override {
    return checked(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice), "upload");
  }
  Status download(void* to, const void* from, std::int64_t bytes) override {
    return checked(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost), "download");
  }
  Status stamp(Stamp* cells, const Write* writes, std::int64_t count) override {
    stamp_extents<<<blocks_for(count), kThreads>>>(cells, writes, count);
    return checked(cudaGetLastError(), "stamping kernel");
  }
  Status recount(const Stamp* cells, const View* views, std::int64_t count, const Holding* holdings,
                 const Mark* marks, CellCounts* counts) override {
    recount_views<<<blocks_for(count), kThreads>>>(cells, views, count, holdings, marks, counts);
    return checked(cudaGetLastError(), "recounting kernel");
  }

 private:
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_cuda_device() {
  if (auto found = expect_cuda_device("to replay on"); !found.ok())
    return std::move(found).error().at_field("--backend");
  int driver = 0;
  KVPLAN_TRY_DO(checked(cudaDriverGetVersion(&driver), "version of the driver"));
  cudaDeviceProp properties{};
  KVPLAN_TRY_DO(checked(cudaGetDeviceProperties(&properties, 0), "device 0"));
  KVPLAN_TRY_DO(checked(cudaSetDevice(0), "device 0"));
  const std::string name = std::string(properties.name) + ", compute capability " +
                           std::to_string(properties.major) + "." + std::to_string(properties.minor) +
                           ", CUDA driver " + cuda_version_text(driver);
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(name));
}

}  // namespace kvplan::validator
