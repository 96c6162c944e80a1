#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "validator/device/device.h"

namespace kvplan::validator {
namespace {

/// Longest extent that one group of threads works on; ranges are cut, allocation units are not.
constexpr std::int64_t kLongest = 4096;
/// Most cells that are moved at once.
constexpr std::int64_t kLongestShift = std::int64_t{1} << 20;

/// Lists for the device, placed one after the other and uploaded in one piece, because a call costs more than the
/// transfer of its data. Device memory grows when longer lists come.
class Parcel {
 public:
  explicit Parcel(Device& device) : device_(device) {}
  ~Parcel() { device_.release(memory_); }
  Parcel(const Parcel&) = delete;
  Parcel& operator=(const Parcel&) = delete;

  void clear() { bytes_.clear(); }
  /// The offset in the parcel at which the list will be.
  template <class T>
  std::size_t add(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
    const std::size_t at = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(at + items.size_bytes());
    if (!items.empty()) std::memcpy(bytes_.data() + at, items.data(), items.size_bytes());
    return at;
  }
  Status upload() {
    const auto size = static_cast<std::int64_t>(bytes_.size());
    if (size > room_) {
      device_.release(memory_);
      memory_ = nullptr;
      room_ = 0;
      const std::int64_t room = std::max<std::int64_t>(2 * size, 65'536);
      KVPLAN_TRY(memory_, device_.allocate(room));
      room_ = room;
    }
    return device_.upload(memory_, bytes_.data(), size);
  }
  template <class T>
  [[nodiscard]] T* at(std::size_t place) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(memory_) + place);
  }

 private:
  static constexpr std::size_t kAlignment = 16;

  Device& device_;
  std::vector<std::byte> bytes_;
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
    parcel_.clear();
    const std::size_t at = parcel_.add(std::span<const Write>(cut_writes_));
    KVPLAN_TRY_DO(parcel_.upload());
    return device_->stamp(cells_, parcel_.at<Write>(at), static_cast<std::int64_t>(cut_writes_.size()));
  }

  /// Moves the cells through the host, in pieces: extents may overlap, and few are moved.
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
      while (view.one_alloc_unit == 0 && view.cells > kLongest) {
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
    parcel_.clear();
    const std::size_t counts_at = parcel_.add(std::span<const CellCounts>(&counts, 1));
    const std::size_t views_at = parcel_.add(std::span<const View>(cut_views_));
    const std::size_t holdings_at = parcel_.add(holdings);
    const std::size_t marks_at = parcel_.add(marks);
    KVPLAN_TRY_DO(parcel_.upload());
    auto* const total = parcel_.at<CellCounts>(counts_at);
    KVPLAN_TRY_DO(device_->recount(cells_, parcel_.at<View>(views_at),
                                   static_cast<std::int64_t>(cut_views_.size()),
                                   parcel_.at<Holding>(holdings_at), parcel_.at<Mark>(marks_at), total));
    KVPLAN_TRY_DO(device_->download(&counts, total, sizeof(counts)));
    return counts;
  }

 private:
  std::unique_ptr<Device> device_;
  Stamp* cells_{nullptr};
  std::int64_t bytes_{0};
  std::vector<Stamp> shifted_;
  std::vector<Write> cut_writes_;
  std::vector<View> cut_views_;
  Parcel parcel_{*device_};
};

}  // namespace

std::unique_ptr<Backend> make_device_backend(std::unique_ptr<Device> device) {
  return std::make_unique<DeviceBackend>(std::move(device));
}

}  // namespace kvplan::validator
