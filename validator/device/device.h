// The device functions that a replay needs: memory, copies and two kernels. All decisions (batching,
// buffers, error texts) are made by DeviceBackend on the host, so that it can be tested with a fake
// device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "simulator/base/result.h"
#include "validator/replay/backend.h"

namespace kvplan::validator {

/// Addresses are the device's. Calls take effect in the order in which they are made. The error of a kernel may be
/// returned by a later call, at the latest by `download`.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  virtual Result<void*> allocate(std::int64_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual Status upload(void* to, const void* from, std::int64_t bytes) = 0;
  virtual Status download(void* to, const void* from, std::int64_t bytes) = 0;
  /// Kernel: writes the extents into the cells.
  virtual Status stamp(Stamp* cells, const Write* writes, std::int64_t count) = 0;
  /// Kernel: adds the cells of the views by state to `counts`.
  virtual Status recount(const Stamp* cells, const View* views, std::int64_t count, const Holding* holdings,
                         const Mark* marks, CellCounts* counts) = 0;
};

/// A replay's memory on a device.
std::unique_ptr<Backend> make_device_backend(std::unique_ptr<Device> device);

/// The first CUDA device. Errors: this build has no CUDA backend; there is no driver, or no device, that it
/// can use.
Result<std::unique_ptr<Device>> make_cuda_device();

/// Host memory with the device's interface, and injected faults like those of devices. Calls are counted from 1; 0:
/// never.
struct Faults {
  std::int64_t no_memory_at{0};   ///< this allocation fails
  std::int64_t lost_at{0};        ///< this upload, download or kernel, and all after it, fail
  std::int64_t flip_at_stamp{0};  ///< after this stamping kernel one bit of the first written cell is flipped
};
std::unique_ptr<Device> make_fake_device(const Faults& faults = {});

}  // namespace kvplan::validator
