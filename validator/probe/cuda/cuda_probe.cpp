// The device of a probe in CUDA.
#include <cuda_runtime_api.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "validator/device/cuda/cuda_calls.h"
#include "validator/probe/cuda/nvml.h"
#include "validator/probe/cuda/probe_kernels.h"
#include "validator/probe/cuda/virtual_memory.h"
#include "validator/probe/probe_device.h"

namespace kvplan::validator {
namespace {

constexpr int kDevice = 0;

std::size_t size_of(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

std::uint64_t address_of(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

Result<std::int64_t> attribute(cudaDeviceAttr which, const char* what) {
  int value = 0;
  KVPLAN_TRY_DO(checked(cudaDeviceGetAttribute(&value, which, kDevice), what));
  return std::int64_t{value};
}

class CudaProbe final : public ProbeDevice {
 public:
  explicit CudaProbe(std::unique_ptr<Nvml> nvml) : nvml_(std::move(nvml)) {}
  CudaProbe(const CudaProbe&) = delete;
  CudaProbe& operator=(const CudaProbe&) = delete;

  /// After an error some memory may still be allocated; it is freed when the process ends.
  ~CudaProbe() override {
    for (const auto& [kernels, graph] : graphs_) (void)cudaGraphExecDestroy(graph);
    for (void* const memory : pooled_) (void)cudaFreeAsync(memory, stream_);
    if (pool_ != nullptr) (void)cudaMemPoolDestroy(pool_);
    for (void* const memory : allocated_) (void)cudaFree(memory);
    if (held_ != nullptr) (void)cudaFree(held_);
    if (sink_ != nullptr) (void)cudaFree(sink_);
    if (pinned_ != nullptr) (void)cudaFreeHost(pinned_);
    if (begin_ != nullptr) (void)cudaEventDestroy(begin_);
    if (end_ != nullptr) (void)cudaEventDestroy(end_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
    (void)cudaGetLastError();
  }

  Result<std::optional<std::int64_t>> nvml_free() override {
    return nvml_ == nullptr ? std::nullopt : nvml_->free_bytes();
  }

  Status make_context() override {
    KVPLAN_TRY_DO(checked(cudaSetDevice(kDevice), "device 0"));
    return checked(cudaFree(nullptr), "context of device 0");
  }

  Status launch_every_kernel() override {
    KVPLAN_TRY(const std::int64_t sms, attribute(cudaDevAttrMultiProcessorCount, "number of SMs"));
    sm_count_ = static_cast<int>(sms);
    KVPLAN_TRY_DO(checked(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"));
    KVPLAN_TRY_DO(checked(cudaEventCreate(&begin_), "event"));
    KVPLAN_TRY_DO(checked(cudaEventCreate(&end_), "event"));
    KVPLAN_TRY_DO(checked(launch_nothing(stream_), "empty kernel"));
    KVPLAN_TRY_DO(checked(launch_spin(stream_), "spinning kernel"));
    KVPLAN_TRY_DO(checked(launch_fill(nullptr, 0, sm_count_, stream_), "filling kernel"));
    KVPLAN_TRY_DO(checked(launch_read(nullptr, 0, nullptr, sm_count_, stream_), "reading kernel"));
    KVPLAN_TRY_DO(checked(cudaDeviceSynchronize(), "first kernels"));
    KVPLAN_TRY(mapping_, VirtualMemory::load());
    return Done{};
  }

  Result<DeviceFacts> facts() override {
    DeviceFacts facts;
    cudaDeviceProp properties{};
    KVPLAN_TRY_DO(checked(cudaGetDeviceProperties(&properties, kDevice), "device 0"));
    facts.name = properties.name;
    facts.sm_count = sm_count_;
    KVPLAN_TRY(facts.l2_bytes, attribute(cudaDevAttrL2CacheSize, "size of the L2 cache"));
    KVPLAN_TRY(const std::int64_t sm_khz, attribute(cudaDevAttrClockRate, "clock of the SMs"));
    KVPLAN_TRY(const std::int64_t memory_khz, attribute(cudaDevAttrMemoryClockRate, "clock of the memory"));
    facts.sm_clock_mhz = sm_khz / 1000;
    facts.memory_clock_mhz = memory_khz / 1000;
    std::size_t free = 0, total = 0;
    KVPLAN_TRY_DO(checked(cudaMemGetInfo(&free, &total), "cudaMemGetInfo"));
    facts.visible_bytes = static_cast<std::int64_t>(total);
    int driver = 0, runtime = 0, architecture = 0;
    KVPLAN_TRY_DO(checked(cudaDriverGetVersion(&driver), "version of the driver"));
    KVPLAN_TRY_DO(checked(cudaRuntimeGetVersion(&runtime), "version of the runtime"));
    KVPLAN_TRY_DO(checked(architecture_of_kernels(&architecture), "attributes of a kernel"));
    const std::string cuda = "CUDA " + cuda_version_text(driver);
    const std::string told = nvml_ == nullptr ? "" : nvml_->driver_version();
    facts.driver = told.empty() ? cuda : told + " (" + cuda + ")";
    facts.toolkit = cuda_version_text(runtime);
    facts.kernel_build = KVPLAN_PROBE_BUILD " sm_" + std::to_string(architecture);
    return facts;
  }

  Result<std::int64_t> free_bytes() override {
    std::size_t free = 0, total = 0;
    KVPLAN_TRY_DO(checked(cudaMemGetInfo(&free, &total), "cudaMemGetInfo"));
    return static_cast<std::int64_t>(free);
  }

  Result<Granularity> granularity() override { return mapping_->granularity(); }

  Result<std::uint64_t> allocate(std::int64_t bytes) override {
    void* memory = nullptr;
    KVPLAN_TRY_DO(checked(cudaMalloc(&memory, size_of(bytes)), no_memory(bytes).c_str()));
    allocated_.push_back(memory);
    return address_of(memory);
  }
  Status free_all() override {
    while (!allocated_.empty()) {
      void* const memory = allocated_.back();
      allocated_.pop_back();
      KVPLAN_TRY_DO(checked(cudaFree(memory), "cudaFree"));
    }
    return Done{};
  }

  Status open_pool(bool keep) override {
    KVPLAN_CHECK(pool_ == nullptr);
    cudaMemPoolProps kind{};
    kind.allocType = cudaMemAllocationTypePinned;
    kind.handleTypes = cudaMemHandleTypeNone;
    kind.location.type = cudaMemLocationTypeDevice;
    kind.location.id = kDevice;
    KVPLAN_TRY_DO(checked(cudaMemPoolCreate(&pool_, &kind), "cudaMemPoolCreate"));
    std::uint64_t threshold = keep ? UINT64_MAX : 0;
    return checked(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold),
                   "release threshold of a pool");
  }
  Result<std::uint64_t> pool_allocate(std::int64_t bytes) override {
    void* memory = nullptr;
    KVPLAN_TRY_DO(checked(cudaMallocFromPoolAsync(&memory, size_of(bytes), pool_, stream_),
                          ("pool: " + no_memory(bytes)).c_str()));
    pooled_.push_back(memory);
    KVPLAN_TRY_DO(synchronise());
    return address_of(memory);
  }
  Result<PoolBytes> pool_bytes() override {
    std::uint64_t reserved = 0, used = 0;
    KVPLAN_TRY_DO(checked(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved),
                          "bytes that a pool has reserved"));
    KVPLAN_TRY_DO(checked(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used),
                          "bytes that are used of a pool"));
    return PoolBytes{static_cast<std::int64_t>(reserved), static_cast<std::int64_t>(used)};
  }
  Status pool_free_all() override {
    while (!pooled_.empty()) {
      void* const memory = pooled_.back();
      pooled_.pop_back();
      KVPLAN_TRY_DO(checked(cudaFreeAsync(memory, stream_), "cudaFreeAsync"));
    }
    return Done{};
  }
  Status synchronise() override { return checked(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  Status trim_pool() override { return checked(cudaMemPoolTrimTo(pool_, 0), "cudaMemPoolTrimTo"); }
  Status close_pool() override {
    cudaMemPool_t pool = std::exchange(pool_, nullptr);
    return checked(cudaMemPoolDestroy(pool), "cudaMemPoolDestroy");
  }

  Result<MapTimes> map_once(std::int64_t handles, std::int64_t handle_size) override {
    return mapping_->map_once(handles, handle_size);
  }

  Result<double> launch_ns(std::int64_t kernels, bool graph) override {
    if (!graph) return timed(false, [&] { return launch_nothings(kernels); });
    KVPLAN_TRY(cudaGraphExec_t made, graph_of(kernels));
    return timed(false, [&] { return checked(cudaGraphLaunch(made, stream_), "launch of a graph"); });
  }

  Status hold(std::int64_t device_bytes, std::int64_t host_bytes) override {
    KVPLAN_CHECK(held_ == nullptr && pinned_ == nullptr && device_bytes >= host_bytes);
    KVPLAN_TRY_DO(checked(cudaMalloc(&held_, size_of(device_bytes)), no_memory(device_bytes).c_str()));
    void* sink = nullptr;
    KVPLAN_TRY_DO(checked(cudaMalloc(&sink, sizeof *sink_), "no memory for a number"));
    sink_ = static_cast<unsigned*>(sink);
    KVPLAN_TRY_DO(checked(launch_fill(held_, size_of(device_bytes), sm_count_, stream_), "filling kernel"));
    if (host_bytes > 0) {
      KVPLAN_TRY_DO(checked(cudaHostAlloc(&pinned_, size_of(host_bytes), cudaHostAllocDefault),
                            ("pinned on the host: " + no_memory(host_bytes)).c_str()));
      KVPLAN_TRY_DO(
          checked(cudaMemcpyAsync(pinned_, held_, size_of(host_bytes), cudaMemcpyDeviceToHost, stream_),
                  "copy to the host"));
    }
    return synchronise();
  }
  Status drop() override {
    void* const held = held_;
    void* const sink = sink_;
    void* const pinned = pinned_;
    held_ = pinned_ = nullptr;
    sink_ = nullptr;
    KVPLAN_TRY_DO(checked(cudaFree(held), "cudaFree"));
    KVPLAN_TRY_DO(checked(cudaFree(sink), "cudaFree"));
    return checked(cudaFreeHost(pinned), "cudaFreeHost");
  }

  Result<double> read_ns(std::int64_t offset, std::int64_t bytes) override {
    return timed(true, [&] {
      return checked(launch_read(on_device(offset), size_of(bytes), sink_, sm_count_, stream_),
                     "reading kernel");
    });
  }
  Result<double> copy_ns(std::int64_t to, std::int64_t from, std::int64_t bytes) override {
    return timed(true, [&] {
      return checked(
          cudaMemcpyAsync(on_device(to), on_device(from), size_of(bytes), cudaMemcpyDeviceToDevice, stream_),
          "copy on the device");
    });
  }

  [[nodiscard]] bool has_batches() const override { return kHasBatches; }

  Result<double> swap_ns(Direction direction, std::span<const CopyPlaces> places, std::int64_t bytes,
                         bool batch) override {
    std::vector<void*> to;
    std::vector<const void*> from;
    for (const CopyPlaces& place : places) {
      void* const device = on_device(place.on_device);
      void* const host = static_cast<char*>(pinned_) + place.on_host;
      to.push_back(direction == Direction::kIn ? device : host);
      from.push_back(direction == Direction::kIn ? host : device);
    }
    if (batch) return batch_ns(to, from, size_of(bytes));
    const cudaMemcpyKind kind = direction == Direction::kIn ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    return timed(false, [&]() -> Status {
      for (std::size_t i = 0; i < to.size(); ++i)
        KVPLAN_TRY_DO(checked(cudaMemcpyAsync(to[i], from[i], size_of(bytes), kind, stream_), "swap"));
      return Done{};
    });
  }

 private:
  static std::string no_memory(std::int64_t bytes) {
    return "no memory for " + std::to_string(bytes) + " bytes";
  }
  [[nodiscard]] void* on_device(std::int64_t offset) const { return static_cast<char*>(held_) + offset; }

  /// Time between two events in a stream that was idle. `parked`: after a kernel that spins while everything is
  /// enqueued, so that the host's time is excluded.
  template <class Work>
  Result<double> timed(bool parked, Work work) {
    KVPLAN_TRY_DO(synchronise());
    if (parked) KVPLAN_TRY_DO(checked(launch_spin(stream_), "spinning kernel"));
    KVPLAN_TRY_DO(checked(cudaEventRecord(begin_, stream_), "first event"));
    KVPLAN_TRY_DO(work());
    KVPLAN_TRY_DO(checked(cudaEventRecord(end_, stream_), "second event"));
    KVPLAN_TRY_DO(checked(cudaEventSynchronize(end_), "what was timed"));
    float milliseconds = 0;
    KVPLAN_TRY_DO(checked(cudaEventElapsedTime(&milliseconds, begin_, end_), "time between events"));
    return std::round(double{milliseconds} * 1e6);
  }

  Status launch_nothings(std::int64_t kernels) {
    for (std::int64_t i = 0; i < kernels; ++i)
      KVPLAN_TRY_DO(checked(launch_nothing(stream_), "empty kernel"));
    return Done{};
  }

  /// The graph is made once for each number of kernels.
  Result<cudaGraphExec_t> graph_of(std::int64_t kernels) {
    if (const auto made = graphs_.find(kernels); made != graphs_.end()) return made->second;
    cudaGraph_t graph = nullptr;
    KVPLAN_TRY_DO(checked(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture"));
    Status launched = launch_nothings(kernels);
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);  // also after an error
    cudaGraphExec_t exec = nullptr;
    cudaError_t made = cudaSuccess;
    if (launched.ok() && ended == cudaSuccess) made = cudaGraphInstantiate(&exec, graph, 0);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    if (!launched.ok()) (void)cudaGetLastError();
    KVPLAN_TRY_DO(std::move(launched));
    KVPLAN_TRY_DO(checked(ended, "end of capture"));
    KVPLAN_TRY_DO(checked(made, "making a graph"));
    graphs_[kernels] = exec;
    return exec;
  }

#if CUDART_VERSION >= 13000
  static constexpr bool kHasBatches = true;
  Result<double> batch_ns(const std::vector<void*>& to, const std::vector<const void*>& from,
                          std::size_t bytes) {
    const std::vector<std::size_t> sizes(to.size(), bytes);
    cudaMemcpyAttributes alike{};
    alike.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
    return timed(false, [&] {
      return checked(
          cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), to.size(), &alike, &first, 1, stream_),
          "swap in a batch");
    });
  }
#else  // CUDA 12.8 and 12.9 have the function with other arguments
  static constexpr bool kHasBatches = false;
  Result<double> batch_ns(const std::vector<void*>&, const std::vector<const void*>&, std::size_t) {
    return bad_input("CUDA: this toolkit has no cudaMemcpyBatchAsync, which CUDA 13 adds");
  }
#endif

  std::unique_ptr<Nvml> nvml_;
  std::unique_ptr<VirtualMemory> mapping_;
  int sm_count_{0};
  cudaStream_t stream_{};
  cudaEvent_t begin_{}, end_{};
  std::vector<void*> allocated_, pooled_;
  cudaMemPool_t pool_{};
  std::map<std::int64_t, cudaGraphExec_t> graphs_;
  void* held_{};
  unsigned* sink_{};
  void* pinned_{};
};

}  // namespace

Result<std::unique_ptr<ProbeDevice>> make_cuda_probe() {
  KVPLAN_TRY_DO(expect_cuda_device("to measure"));
  cudaDeviceProp properties{};
  KVPLAN_TRY_DO(checked(cudaGetDeviceProperties(&properties, kDevice), "device 0"));
  std::array<char, 32> bus_id{};
  KVPLAN_TRY_DO(checked(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), kDevice),
                        "place of device 0"));
  return std::unique_ptr<ProbeDevice>(
      std::make_unique<CudaProbe>(Nvml::open(bus_id.data(), properties.totalGlobalMem)));
}

}  // namespace kvplan::validator
