#include "validator/probe/cuda/virtual_memory.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <chrono>
#include <string>
#include <vector>

#include "validator/device/cuda/cuda_calls.h"

namespace kvplan::validator {

/// The functions as they are since CUDA 10.2; only the name of an error has changed.
struct VirtualMemory::Functions {
  PFN_cuGetErrorName_v6000 error_name{};
  PFN_cuMemGetAllocationGranularity_v10020 granularity{};
  PFN_cuMemAddressReserve_v10020 reserve{};
  PFN_cuMemAddressFree_v10020 free_addresses{};
  PFN_cuMemCreate_v10020 create{};
  PFN_cuMemMap_v10020 map{};
  PFN_cuMemSetAccess_v10020 set_access{};
  PFN_cuMemUnmap_v10020 unmap{};
  PFN_cuMemRelease_v10020 release{};

  [[nodiscard]] Status checked(CUresult result, const char* what) const {
    if (result == CUDA_SUCCESS) return Done{};
    const char* name = nullptr;
    if (error_name(result, &name) != CUDA_SUCCESS || name == nullptr) name = "an unknown error";
    return bad_input(std::string("CUDA: ") + what + ": " + name + " (" +
                     std::to_string(static_cast<int>(result)) + ")");
  }
};

namespace {

CUmemAllocationProp on_device_0() {
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind.location.id = 0;
  return kind;
}

template <class Work>
Status timed(double& ns, Work work) {
  const auto begin = std::chrono::steady_clock::now();
  KVPLAN_TRY_DO(work());
  ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  return Done{};
}

template <class Function>
Status find(Function& function, const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer{};
  KVPLAN_TRY_DO(
      checked(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &answer), name));
  if (answer != cudaDriverEntryPointSuccess || found == nullptr)
    return bad_input(std::string("CUDA: ") + name + ": this driver does not have it");
  function = reinterpret_cast<Function>(found);
  return Done{};
}

}  // namespace

/// Handles mapped into a range of addresses, step by step; the destructor releases what is left of them.
class VirtualMemory::Range {
 public:
  Range(const Functions& functions, std::size_t size) : f_(functions), size_(size) {}
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    while (unmapped_ < mapped_) (void)f_.unmap(at(unmapped_++), size_);
    while (released_ < handles_.size()) (void)f_.release(handles_[released_++]);
    if (base_ != 0) (void)f_.free_addresses(base_, reserved_);
  }

  Status reserve(std::size_t count) {
    handles_.reserve(count);
    KVPLAN_TRY_DO(f_.checked(f_.reserve(&base_, count * size_, 0, 0, 0), "cuMemAddressReserve"));
    reserved_ = count * size_;
    return Done{};
  }
  Status create(std::size_t count) {
    const CUmemAllocationProp kind = on_device_0();
    while (handles_.size() < count) {
      CUmemGenericAllocationHandle handle{};
      KVPLAN_TRY_DO(f_.checked(f_.create(&handle, size_, &kind, 0), "cuMemCreate"));
      handles_.push_back(handle);
    }
    return Done{};
  }
  Status map() {
    for (; mapped_ < handles_.size(); ++mapped_)
      KVPLAN_TRY_DO(f_.checked(f_.map(at(mapped_), size_, 0, handles_[mapped_], 0), "cuMemMap"));
    return Done{};
  }
  Status set_access() {
    CUmemAccessDesc access{};
    access.location = on_device_0().location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return f_.checked(f_.set_access(base_, reserved_, &access, 1), "cuMemSetAccess");
  }
  Status unmap() {
    for (; unmapped_ < mapped_; ++unmapped_)
      KVPLAN_TRY_DO(f_.checked(f_.unmap(at(unmapped_), size_), "cuMemUnmap"));
    return Done{};
  }
  Status release() {
    for (; released_ < handles_.size(); ++released_)
      KVPLAN_TRY_DO(f_.checked(f_.release(handles_[released_]), "cuMemRelease"));
    return Done{};
  }
  Status free_addresses() {
    KVPLAN_TRY_DO(f_.checked(f_.free_addresses(base_, reserved_), "cuMemAddressFree"));
    base_ = 0;
    return Done{};
  }

 private:
  [[nodiscard]] CUdeviceptr at(std::size_t handle) const { return base_ + handle * size_; }

  const Functions& f_;
  std::size_t size_;
  CUdeviceptr base_{0};
  std::size_t reserved_{0};
  std::vector<CUmemGenericAllocationHandle> handles_;
  std::size_t mapped_{0}, unmapped_{0}, released_{0};
};

VirtualMemory::VirtualMemory() : functions_(std::make_unique<Functions>()) {}
VirtualMemory::~VirtualMemory() = default;

Result<std::unique_ptr<VirtualMemory>> VirtualMemory::load() {
  constexpr unsigned kSince = 10020;
  std::unique_ptr<VirtualMemory> memory(new VirtualMemory);
  Functions& f = *memory->functions_;
  KVPLAN_TRY_DO(find(f.error_name, "cuGetErrorName", 6000));
  KVPLAN_TRY_DO(find(f.granularity, "cuMemGetAllocationGranularity", kSince));
  KVPLAN_TRY_DO(find(f.reserve, "cuMemAddressReserve", kSince));
  KVPLAN_TRY_DO(find(f.free_addresses, "cuMemAddressFree", kSince));
  KVPLAN_TRY_DO(find(f.create, "cuMemCreate", kSince));
  KVPLAN_TRY_DO(find(f.map, "cuMemMap", kSince));
  KVPLAN_TRY_DO(find(f.set_access, "cuMemSetAccess", kSince));
  KVPLAN_TRY_DO(find(f.unmap, "cuMemUnmap", kSince));
  KVPLAN_TRY_DO(find(f.release, "cuMemRelease", kSince));
  return memory;
}

Result<Granularity> VirtualMemory::granularity() {
  const CUmemAllocationProp kind = on_device_0();
  std::size_t minimum = 0, recommended = 0;
  constexpr const char* kWhat = "cuMemGetAllocationGranularity";
  KVPLAN_TRY_DO(
      functions_->checked(functions_->granularity(&minimum, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM), kWhat));
  KVPLAN_TRY_DO(functions_->checked(
      functions_->granularity(&recommended, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), kWhat));
  return Granularity{static_cast<std::int64_t>(minimum), static_cast<std::int64_t>(recommended)};
}

Result<MapTimes> VirtualMemory::map_once(std::int64_t handles, std::int64_t handle_size) {
  const auto count = static_cast<std::size_t>(handles);
  Range range(*functions_, static_cast<std::size_t>(handle_size));
  MapTimes times;
  KVPLAN_TRY_DO(range.reserve(count));
  KVPLAN_TRY_DO(timed(times.create, [&] { return range.create(count); }));
  KVPLAN_TRY_DO(timed(times.map, [&] { return range.map(); }));
  KVPLAN_TRY_DO(timed(times.set_access, [&] { return range.set_access(); }));
  KVPLAN_TRY_DO(timed(times.unmap, [&] { return range.unmap(); }));
  KVPLAN_TRY_DO(timed(times.release, [&] { return range.release(); }));
  KVPLAN_TRY_DO(range.free_addresses());
  return times;
}

}  // namespace kvplan::validator
