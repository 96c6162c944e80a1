// The buddy system (Knowlton, CACM 8 (10), 1965; Knuth, The Art of Computer Programming 1, section 2.5): ranges are
// powers of two at multiples of their length. A reservation takes the next power of two, from the smallest free range
// that is large enough (the lowest of equal ones), which is halved as often as needed; the lower half is used. A freed
// range joins its buddy (address XOR length) as long as that is free.
//
// A pool that is not a power of two is the sequence of powers of which it is the sum, the largest first. The part of a
// range added by rounding up is held and never used: `internal` in the ledger.
#include <bit>
#include <set>

#include "simulator/memory/one_range.h"

namespace kvplan::memory::allocator_buddy {
namespace {

using core::MemoryLayout;

std::int64_t next_power(std::int64_t slots) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(slots)));
}

int order_of(std::int64_t power) {
  return std::countr_zero(static_cast<std::uint64_t>(power));
}

class BuddyBase : public OneRangeAllocator {
 public:
  using OneRangeAllocator::OneRangeAllocator;

 protected:
  [[nodiscard]] std::int64_t granted(std::int64_t slots) const override { return next_power(slots); }
  [[nodiscard]] std::int64_t most_in_a_row() const override {
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(total_slots())));
  }
};

/// Free ranges by length, which is a power of two.
class BuddyAllocator final : public BuddyBase {
 public:
  BuddyAllocator(const MemoryLayout& layout, std::string_view reserve, const AllocatorRequest& request)
      : BuddyBase(layout, reserve, request) {
    std::int64_t address = 0;
    for (auto order = free_.size(); order-- > 0;) {
      const std::int64_t length = std::int64_t{1} << order;
      if ((layout.alloc_units & length) == 0) continue;
      free_[order].insert(address);
      address += length;
    }
  }

 protected:
  std::int64_t place(std::int64_t slots) override {
    const auto wanted = static_cast<std::size_t>(order_of(slots));
    auto order = wanted;
    while (order < free_.size() && free_[order].empty()) ++order;
    if (order == free_.size()) return -1;
    const std::int64_t address = *free_[order].begin();
    free_[order].erase(free_[order].begin());
    while (order-- > wanted) free_[order].insert(address + (std::int64_t{1} << order));
    return address;
  }

  void put_back(std::int64_t address, std::int64_t slots) override {
    auto order = static_cast<std::size_t>(order_of(slots));
    // A range has no buddy beyond the power of two that it came from: nothing of that length is free there.
    while (free_[order].erase(address ^ (std::int64_t{1} << order)) == 1) {
      address &= ~(std::int64_t{1} << order);
      ++order;
    }
    free_[order].insert(address);
  }

 private:
  std::array<std::set<std::int64_t>, 32> free_;  // addresses, by order; pools have at most 2^30 slots
};

/// Slow, obvious model: one flag per slot. Since buddies join at once, the free ranges are the largest aligned powers
/// of two that are completely free.
class BuddyModel final : public BuddyBase {
 public:
  BuddyModel(const MemoryLayout& layout, std::string_view reserve, const AllocatorRequest& request)
      : BuddyBase(layout, reserve, request), taken_(static_cast<std::size_t>(layout.alloc_units), false) {}

 protected:
  std::int64_t place(std::int64_t slots) override {
    for (std::int64_t length = slots; length <= total_slots(); length *= 2) {
      for (std::int64_t address = 0; address + length <= total_slots(); address += length) {
        const std::int64_t parent = address & ~(2 * length - 1);
        if (!is_free(address, length) || is_free(parent, 2 * length)) continue;
        mark(address, slots, true);
        return address;
      }
    }
    return -1;
  }
  void put_back(std::int64_t address, std::int64_t slots) override { mark(address, slots, false); }

 private:
  /// False also for a range that does not lie inside one of the powers that form the pool.
  [[nodiscard]] bool is_free(std::int64_t address, std::int64_t length) const {
    std::int64_t root = 0;
    for (std::int64_t power = std::int64_t{1} << 40; power > 0; power /= 2) {
      if ((total_slots() & power) == 0) continue;
      if (address >= root && address < root + power) {
        if (address + length > root + power) return false;
        return std::none_of(taken_.begin() + address, taken_.begin() + address + length,
                            [](bool t) { return t; });
      }
      root += power;
    }
    return false;
  }
  void mark(std::int64_t address, std::int64_t slots, bool taken) {
    for (std::int64_t i = address; i < address + slots; ++i) {
      KVPLAN_CHECK(taken_[static_cast<std::size_t>(i)] != taken, i);
      taken_[static_cast<std::size_t>(i)] = taken;
    }
  }
  std::vector<bool> taken_;
};

template <class T>
Result<std::unique_ptr<core::Allocator>> make_buddy(const Choice& choice, const AllocatorRequest& request) {
  KVPLAN_TRY(const MemoryLayout layout, one_range_layout(request, core::RangePlacement::kBuddy));
  return std::unique_ptr<core::Allocator>(
      std::make_unique<T>(layout, lasting_text(choice, kReserveParam.name), request));
}

constexpr std::array<Param, 1> kParams{kReserveParam};

}  // namespace

extern const AllocatorEntry kMember;
const AllocatorEntry kMember{
    .descriptor = {.family = "allocator",
                   .name = "buddy",
                   .summary = "One contiguous range per request with a power-of-two size: the buddy system.",
                   .source =
                       "Knowlton, CACM 8 (10), 1965; as an early serving baseline: Kwon et al., SOSP 2023",
                   .params = kParams,
                   .spans = kOneRangeSpans},
    .make = make_buddy<BuddyAllocator>,
    .make_model = make_buddy<BuddyModel>,
    .shares_prefixes = false};

}  // namespace kvplan::memory::allocator_buddy
