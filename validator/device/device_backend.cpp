#include <algorithm>
#include <span>
#include <vector>

#include "validator/device/device.h"

namespace kvplan::validator {
namespace {

/// Longest extent that one group of threads works on; ranges are cut, quanta are not.
constexpr std::int64_t kLongest = 4096;
/// Cells that are moved at once.
constexpr std::int64_t kLongestShift = std::int64_t{1} << 20;

/// Device memory for a list, made larger when a longer one comes.
template <class T>
class Buffer {
 public:
  explicit Buffer(Device& device) : device_(device) {}
  ~Buffer() { device_.release(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Status fill(std::span<const T> items) {
    const auto count = static_cast<std::int64_t>(items.size());
    if (count == 0) return Done{};
    if (count > room_) {
      device_.release(memory_);
      memory_ = nullptr;
      room_ = 0;
      const std::int64_t room = std::max<std::int64_t>(2 * count, 1024);
      KVPLAN_TRY(memory_, device_.allocate(room * static_cast<std::int64_t>(sizeof(T))));
      room_ = room;
    }
    return device_.upload(memory_, items.data(), count * static_cast<std::int64_t>(sizeof(T)));
  }
  [[nodiscard]] T* data() const { return static_cast<T*>(memory_); }

 private:
  Device& device_;
  void* memory_{nullptr};
  std::int64_t room_{0};
};

class DeviceBackend final : public Backend {
 public:
  explicit DeviceBackend(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  ~DeviceBackend() override { device_->release(cells_); }

  [[nodiscard]] std::string device() const override { return device_->name(); }

  Status reserve(std::int64_t cells) override {
    const std::int64_t bytes = cells * static_cast<std::int64_t>(sizeof(Stamp));
    KVPLAN_TRY(void* const memory, device_->allocate(bytes));
    cells_ = static_cast<Stamp*>(memory);
    bytes_ = bytes;
    const Write all{0, cells, 0, 0, 1};
    return write({&all, 1});
  }
  [[nodiscard]] std::int64_t reserved_bytes() const override { return bytes_; }

  Status write(std::span<const Write> writes) override {
    cut_writes_.clear();
    for (Write w : writes) {
      while (w.cells > 0) {
        Write part = w;
        part.cells = std::min(w.cells, kLongest);
        cut_writes_.push_back(part);
        w.first_cell += part.cells;
        w.first_offset += part.cells;
        w.cells -= part.cells;
      }
    }
    if (cut_writes_.empty()) return Done{};
    KVPLAN_TRY_DO(writes_.fill(cut_writes_));
    return device_->stamp(cells_, writes_.data(), static_cast<std::int64_t>(cut_writes_.size()));
  }

  /// By way of the host, in pieces: extents may overlap, and few are moved.
  Status shift(std::span<const Shift> shifts) override {
    for (const Shift& s : shifts) {
      for (std::int64_t done = 0; done < s.cells;) {
        const std::int64_t cells = std::min(s.cells - done, kLongestShift);
        const std::int64_t at =
            s.to <= s.from ? done : s.cells - done - cells;  // nothing is written before it is read
        shifted_.resize(static_cast<std::size_t>(cells));
        const std::int64_t bytes = cells * static_cast<std::int64_t>(sizeof(Stamp));
        KVPLAN_TRY_DO(device_->download(shifted_.data(), cells_ + s.from + at, bytes));
        KVPLAN_TRY_DO(device_->upload(cells_ + s.to + at, shifted_.data(), bytes));
        done += cells;
      }
    }
    return Done{};
  }

  Result<CellCounts> recount(std::span<const View> views, std::span<const Holding> holdings,
                             std::span<const Mark> marks) override {
    cut_views_.clear();
    for (View view : views) {
      while (view.one_quantum == 0 && view.cells > kLongest) {
        View part = view;
        part.cells = kLongest;
        cut_views_.push_back(part);
        view.first_cell += kLongest;
        view.first_offset += kLongest;
        view.cells -= kLongest;
      }
      cut_views_.push_back(view);
    }
    CellCounts counts;
    KVPLAN_TRY_DO(views_.fill(cut_views_));
    KVPLAN_TRY_DO(holdings_.fill(holdings));
    KVPLAN_TRY_DO(marks_.fill(marks));
    KVPLAN_TRY_DO(counts_.fill({&counts, 1}));
    KVPLAN_TRY_DO(device_->recount(cells_, views_.data(), static_cast<std::int64_t>(cut_views_.size()),
                                   holdings_.data(), marks_.data(), counts_.data()));
    KVPLAN_TRY_DO(device_->download(&counts, counts_.data(), sizeof(counts)));
    return counts;
  }

 private:
  std::unique_ptr<Device> device_;
  Stamp* cells_{nullptr};
  std::int64_t bytes_{0};
  std::vector<Stamp> shifted_;
  std::vector<Write> cut_writes_;
  std::vector<View> cut_views_;
  Buffer<Write> writes_{*device_};
  Buffer<View> views_{*device_};
  Buffer<Holding> holdings_{*device_};
  Buffer<Mark> marks_{*device_};
  Buffer<CellCounts> counts_{*device_};
};

}  // namespace

std::unique_ptr<Backend> make_device_backend(std::unique_ptr<Device> device) {
  return std::make_unique<DeviceBackend>(std::move(device));
}

}  // namespace kvplan::validator
