#include <cstdlib>
#include <cstring>

#include "validator/device/device.h"

namespace kvplan::validator {
namespace {

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(const Faults& faults) : faults_(faults) {}

  [[nodiscard]] std::string name() const override { return "fake device (host memory)"; }

  Result<void*> allocate(std::int64_t bytes) override {
    void* const memory =
        ++allocations_ == faults_.no_memory_at ? nullptr : std::malloc(static_cast<std::size_t>(bytes));
    if (memory == nullptr) return bad_input("fake device: no memory for " + std::to_string(bytes) + " bytes");
    return memory;
  }
  void release(void* memory) override { std::free(memory); }

  Status upload(void* to, const void* from, std::int64_t bytes) override {
    KVPLAN_TRY_DO(still_there());
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return Done{};
  }
  Status download(void* to, const void* from, std::int64_t bytes) override { return upload(to, from, bytes); }

  Status stamp(Stamp* cells, const Write* writes, std::int64_t count) override {
    KVPLAN_TRY_DO(still_there());
    for (const Write* w = writes; w != writes + count; ++w)
      for (std::int64_t i = 0; i < w->cells; ++i)
        cells[w->first_cell + i] = w->poison != 0 ? kPoison : stamp_of(w->content, w->first_offset + i);
    if (++stampings_ == faults_.flip_at_stamp) cells[writes->first_cell] ^= 1;
    return Done{};
  }
  Status recount(const Stamp* cells, const View* views, std::int64_t count, const Holding* holdings,
                 const Mark* marks, CellCounts* counts) override {
    KVPLAN_TRY_DO(still_there());
    for (const View* view = views; view != views + count; ++view) {
      CellCounts found = count_view(*view, holdings, cells + view->first_cell, marks, 0, 1);
      settle_view(*view, found);
      *counts += found;
    }
    return Done{};
  }

 private:
  Status still_there() {
    if (faults_.lost_at > 0 && ++calls_ >= faults_.lost_at)
      return bad_input("fake device: the device is lost");
    return Done{};
  }

  Faults faults_;
  std::int64_t allocations_{0}, calls_{0}, stampings_{0};
};

}  // namespace

std::unique_ptr<Device> make_fake_device(const Faults& faults) {
  return std::make_unique<FakeDevice>(faults);
}

}  // namespace kvplan::validator
