#include <cuda_runtime_api.h>

#include <array>
#include <string_view>
#include <vector>

#include "simulator/base/check.h"
#include "validator/device/cuda/cuda_calls.h"
#include "validator/kernels/cuda/cuda_launch.h"
#include "validator/kernels/cuda/pause.h"
#include "validator/kernels/machine.h"
#include "validator/probe/cuda/nvml.h"

namespace kvplan::validator {
namespace {

constexpr int kDevice = 0;

/// Bytes/s from data sheets. For other devices it is clock times bus width; data sheets state a little less than that.
struct Peak {
  std::string_view name;
  double bandwidth;
};
constexpr std::array<Peak, 6> kPeaks{{{"NVIDIA H200", 4.8e12},
                                      {"NVIDIA H100 80GB HBM3", 3.35e12},
                                      {"NVIDIA H100 PCIe", 2.04e12},
                                      {"NVIDIA A100-SXM4-80GB", 2.039e12},
                                      {"NVIDIA A100-SXM4-40GB", 1.555e12},
                                      {"NVIDIA B200", 8e12}}};

std::size_t size_of(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

Result<std::int64_t> attribute(cudaDeviceAttr which, const char* what) {
  int value = 0;
  KVPLAN_TRY_DO(checked(cudaDeviceGetAttribute(&value, which, kDevice), what));
  return std::int64_t{value};
}

Status enqueue(std::span<const Launch> launches, cudaStream_t stream) {
  for (const Launch& launch : launches)
    KVPLAN_TRY_DO(
        checked(std::visit([&](const auto& a) { return launch_on_cuda(a, stream); }, launch), "launch"));
  return Done{};
}

/// A graph of all launches, replayed between two events. Before it, a kernel spins until the whole graph is enqueued,
/// so that the time of the host is not measured.
class CudaTimed final : public Timed {
 public:
  CudaTimed(cudaGraphExec_t graph, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end)
      : graph_(graph), stream_(stream), begin_(begin), end_(end) {}
  CudaTimed(const CudaTimed&) = delete;
  CudaTimed& operator=(const CudaTimed&) = delete;
  ~CudaTimed() override { (void)cudaGraphExecDestroy(graph_); }

  Result<double> sample() override {
    KVPLAN_TRY_DO(checked(launch_pause(stream_), "spinning kernel"));
    KVPLAN_TRY_DO(checked(cudaEventRecord(begin_, stream_), "first event"));
    KVPLAN_TRY_DO(checked(cudaGraphLaunch(graph_, stream_), "launch of a graph"));
    KVPLAN_TRY_DO(checked(cudaEventRecord(end_, stream_), "second event"));
    KVPLAN_TRY_DO(checked(cudaEventSynchronize(end_), "what was timed"));
    float milliseconds = 0;
    KVPLAN_TRY_DO(checked(cudaEventElapsedTime(&milliseconds, begin_, end_), "time between events"));
    return double{milliseconds} * 1e6;
  }

 private:
  cudaGraphExec_t graph_;
  cudaStream_t stream_;
  cudaEvent_t begin_, end_;
};

/// Time between two events in an idle stream. It includes the host's time for enqueuing if the device waits for it:
/// this is the cost of copies that are not in a graph.
class EagerTimed final : public Timed {
 public:
  EagerTimed(std::span<const Launch> launches, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end)
      : launches_(launches.begin(), launches.end()), stream_(stream), begin_(begin), end_(end) {}

  Result<double> sample() override {
    KVPLAN_TRY_DO(checked(cudaEventRecord(begin_, stream_), "first event"));
    KVPLAN_TRY_DO(enqueue(launches_, stream_));
    KVPLAN_TRY_DO(checked(cudaEventRecord(end_, stream_), "second event"));
    KVPLAN_TRY_DO(checked(cudaEventSynchronize(end_), "what was timed"));
    float milliseconds = 0;
    KVPLAN_TRY_DO(checked(cudaEventElapsedTime(&milliseconds, begin_, end_), "time between events"));
    return double{milliseconds} * 1e6;
  }

 private:
  std::vector<Launch> launches_;
  cudaStream_t stream_;
  cudaEvent_t begin_, end_;
};

class CudaMachine final : public Machine {
 public:
  explicit CudaMachine(std::unique_ptr<Nvml> nvml) : nvml_(std::move(nvml)) {}
  CudaMachine(const CudaMachine&) = delete;
  CudaMachine& operator=(const CudaMachine&) = delete;
  ~CudaMachine() override {
    if (begin_ != nullptr) (void)cudaEventDestroy(begin_);
    if (end_ != nullptr) (void)cudaEventDestroy(end_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status open() {
    KVPLAN_TRY_DO(checked(cudaSetDevice(kDevice), "device 0"));
    KVPLAN_TRY_DO(checked(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"));
    KVPLAN_TRY_DO(checked(cudaEventCreate(&begin_), "event"));
    KVPLAN_TRY_DO(checked(cudaEventCreate(&end_), "event"));
    return read_facts();
  }

  [[nodiscard]] const MachineFacts& facts() const override { return facts_; }

  Result<std::optional<Telemetry>> telemetry() override {
    if (nvml_ == nullptr) return std::optional<Telemetry>{};
    const Nvml::Telemetry seen = nvml_->telemetry();
    return std::optional<Telemetry>{{.sm_clock_mhz = seen.sm_clock_mhz,
                                     .memory_clock_mhz = seen.memory_clock_mhz,
                                     .temperature_c = seen.temperature_c,
                                     .power_mw = seen.power_mw,
                                     .throttle_reasons = seen.throttle_reasons}};
  }

  Result<std::int64_t> free_bytes() override {
    std::size_t free = 0, total = 0;
    KVPLAN_TRY_DO(checked(cudaMemGetInfo(&free, &total), "cudaMemGetInfo"));
    return static_cast<std::int64_t>(free);
  }

  Result<void*> allocate(Place place, std::int64_t bytes) override {
    void* memory = nullptr;
    const cudaError_t got = place == Place::kDevice
                                ? cudaMalloc(&memory, size_of(bytes))
                                : cudaHostAlloc(&memory, size_of(bytes), cudaHostAllocDefault);
    KVPLAN_TRY_DO(checked(got, ("no memory for " + std::to_string(bytes) + " bytes").c_str()));
    return memory;
  }
  void release(Place place, void* memory) override {
    (void)(place == Place::kDevice ? cudaFree(memory) : cudaFreeHost(memory));
  }
  Status upload(void* to, const void* from, std::int64_t bytes) override {
    return checked(cudaMemcpy(to, from, size_of(bytes), cudaMemcpyDefault), "copy to the device");
  }
  Status download(void* to, const void* from, std::int64_t bytes) override {
    return checked(cudaMemcpy(to, from, size_of(bytes), cudaMemcpyDefault), "copy from the device");
  }
  Status set(void* to, std::uint8_t byte, std::int64_t bytes) override {
    KVPLAN_TRY_DO(checked(cudaMemsetAsync(to, byte, size_of(bytes), stream_), "cudaMemset"));
    return synchronise();
  }
  Status make_up(void* to, const MadeUp& of, std::int64_t first, std::int64_t elements) override {
    KVPLAN_TRY_DO(checked(make_up_on_cuda(to, of, first, elements, stream_), "filling kernel"));
    return synchronise();
  }

  Status run(std::span<const Launch> launches) override {
    KVPLAN_TRY_DO(enqueue(launches, stream_));
    return synchronise();
  }

  Result<std::unique_ptr<Timed>> prepare(std::span<const Launch> launches) override {
    KVPLAN_TRY_DO(run(launches));  // modules are loaded when they are first used
    if (std::holds_alternative<SwapArguments>(launches.front()))
      return std::unique_ptr<Timed>(std::make_unique<EagerTimed>(launches, stream_, begin_, end_));
    KVPLAN_TRY_DO(checked(launch_pause(stream_), "spinning kernel"));
    cudaGraph_t graph = nullptr;
    KVPLAN_TRY_DO(checked(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture"));
    Status enqueued = enqueue(launches, stream_);
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);  // also after an error
    cudaGraphExec_t made = nullptr;
    cudaError_t instantiated = cudaSuccess;
    if (enqueued.ok() && ended == cudaSuccess) instantiated = cudaGraphInstantiate(&made, graph, 0);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    if (!enqueued.ok()) (void)cudaGetLastError();
    KVPLAN_TRY_DO(std::move(enqueued));
    KVPLAN_TRY_DO(checked(ended, "end of capture"));
    KVPLAN_TRY_DO(checked(instantiated, "making a graph"));
    auto timed = std::make_unique<CudaTimed>(made, stream_, begin_, end_);
    KVPLAN_TRY_DO(checked(cudaGraphUpload(made, stream_), "upload of a graph"));
    KVPLAN_TRY_DO(synchronise());
    return std::unique_ptr<Timed>(std::move(timed));
  }

 private:
  Status synchronise() { return checked(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  Status read_facts() {
    cudaDeviceProp properties{};
    KVPLAN_TRY_DO(checked(cudaGetDeviceProperties(&properties, kDevice), "device 0"));
    facts_.name = properties.name;
    facts_.sm_count = properties.multiProcessorCount;
    KVPLAN_TRY(facts_.cache_bytes, attribute(cudaDevAttrL2CacheSize, "size of the L2 cache"));
    KVPLAN_TRY(facts_.shared_bytes,
               attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, "shared memory of a block"));
    KVPLAN_TRY(const std::int64_t sm_khz, attribute(cudaDevAttrClockRate, "clock of the SMs"));
    KVPLAN_TRY(const std::int64_t memory_khz, attribute(cudaDevAttrMemoryClockRate, "clock of the memory"));
    KVPLAN_TRY(const std::int64_t width, attribute(cudaDevAttrGlobalMemoryBusWidth, "width of the memory"));
    facts_.sm_clock_mhz = sm_khz / 1000;
    facts_.memory_clock_mhz = memory_khz / 1000;
    facts_.peak_bandwidth = 2.0 * static_cast<double>(memory_khz) * 1e3 * static_cast<double>(width) / 8;
    for (const Peak& peak : kPeaks)
      if (peak.name == facts_.name) facts_.peak_bandwidth = peak.bandwidth;
    facts_.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    int driver = 0, runtime = 0, architecture = 0;
    KVPLAN_TRY_DO(checked(cudaDriverGetVersion(&driver), "version of the driver"));
    KVPLAN_TRY_DO(checked(cudaRuntimeGetVersion(&runtime), "version of the runtime"));
    KVPLAN_TRY_DO(checked(kernel_architecture(&architecture), "attributes of a kernel"));
    const std::string cuda = "CUDA " + cuda_version_text(driver);
    const std::string told = nvml_ == nullptr ? "" : nvml_->driver_version();
    facts_.driver = told.empty() ? cuda : told + " (" + cuda + ")";
    facts_.toolkit = cuda_version_text(runtime);
    facts_.kernel_build = KVPLAN_KERNELS_BUILD " sm_" + std::to_string(architecture);
    return Done{};
  }

  std::unique_ptr<Nvml> nvml_;
  MachineFacts facts_;
  cudaStream_t stream_{};
  cudaEvent_t begin_{}, end_{};
};

}  // namespace

Result<std::unique_ptr<Machine>> make_cuda_machine() {
  KVPLAN_TRY_DO(expect_cuda_device("to run kernels on"));
  cudaDeviceProp properties{};
  KVPLAN_TRY_DO(checked(cudaGetDeviceProperties(&properties, kDevice), "device 0"));
  std::array<char, 32> bus_id{};
  KVPLAN_TRY_DO(checked(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), kDevice),
                        "place of device 0"));
  auto machine = std::make_unique<CudaMachine>(Nvml::open(bus_id.data(), properties.totalGlobalMem));
  KVPLAN_TRY_DO(machine->open());
  return std::unique_ptr<Machine>(std::move(machine));
}

}  // namespace kvplan::validator
