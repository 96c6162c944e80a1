// Contiguous memory with a reservation made once, at first admission: serving before paging, as Kwon et al., SOSP 2023
// (arXiv 2309.06180), sections 3.1 and 6.1, describe Orca and FasterTransformer.
//
// With compact=on-refusal held ranges slide together, the lowest first, if idle memory suffices and no free range does.
// That is an upper bound of what moving memory could save; section 3.1 of that paper calls it impractical for serving.
#include "simulator/memory/free_ranges.h"
#include "simulator/memory/one_range.h"

namespace kvplan::memory::allocator_contiguous {
namespace {

using core::MemoryLayout;
using core::RangePlacement;

class ContiguousAllocator final : public OneRangeAllocator {
 public:
  ContiguousAllocator(const MemoryLayout& layout, std::string_view reserve, const AllocatorRequest& request,
                      const std::optional<CopyCost>& compaction)
      : OneRangeAllocator(layout, reserve, request, compaction), free_(layout.ranges, layout.alloc_units) {}

 protected:
  std::int64_t place(std::int64_t slots) override { return free_.take(slots); }
  void put_back(std::int64_t address, std::int64_t slots) override { free_.give_back(address, slots); }
  void slide_down() override {
    std::int64_t end = 0;
    for (const Held& range : held_ranges()) {
      if (range.address > end) {
        free_.slide(range.address, end, range.slots);
        moved(range, end);
      }
      end += range.slots;
    }
  }

 private:
  FreeRanges free_;
};

/// Slow obvious model: one flag per slot; every choice is made from the list of all free ranges.
class ContiguousModel final : public OneRangeAllocator {
 public:
  ContiguousModel(const MemoryLayout& layout, std::string_view reserve, const AllocatorRequest& request,
                  const std::optional<CopyCost>& compaction)
      : OneRangeAllocator(layout, reserve, request, compaction),
        fit_(layout.ranges),
        taken_(static_cast<std::size_t>(layout.alloc_units), false) {}

 protected:
  std::int64_t place(std::int64_t slots) override {
    struct Candidate {
      bool ahead;            // next fit comes to this range later
      std::int64_t length;   // best fit
      std::int64_t address;  // used by first fit, and for ties
      auto operator<=>(const Candidate&) const = default;
    };
    std::vector<Candidate> candidates;
    for (std::int64_t begin = 0; begin < total_slots(); ++begin) {
      std::int64_t end = begin;
      while (end < total_slots() && !taken_[static_cast<std::size_t>(end)]) ++end;
      if (end - begin >= slots)
        candidates.push_back({fit_ == RangePlacement::kNextFit && begin < latest_end_,
                              fit_ == RangePlacement::kBestFit ? end - begin : 0, begin});
      if (end > begin) begin = end;
    }
    if (candidates.empty()) return -1;
    const std::int64_t address = std::min_element(candidates.begin(), candidates.end())->address;
    mark(address, slots, true);
    latest_end_ = address + slots;
    return address;
  }
  void put_back(std::int64_t address, std::int64_t slots) override { mark(address, slots, false); }
  /// One slot at a time.
  void slide_down() override {
    for (const Held& range : held_ranges()) {
      std::int64_t to = range.address;
      for (; to > 0 && !taken_[static_cast<std::size_t>(to - 1)]; --to) {
        mark(to - 1, 1, true);
        mark(to - 1 + range.slots, 1, false);
      }
      if (to != range.address) moved(range, to);
    }
  }

 private:
  void mark(std::int64_t address, std::int64_t slots, bool taken) {
    for (std::int64_t i = address; i < address + slots; ++i) {
      KVPLAN_CHECK(taken_[static_cast<std::size_t>(i)] != taken, i);
      taken_[static_cast<std::size_t>(i)] = taken;
    }
  }
  RangePlacement fit_;
  std::vector<bool> taken_;
  std::int64_t latest_end_{0};
};

template <class T>
Result<std::unique_ptr<core::Allocator>> make_contiguous(const Choice& choice,
                                                         const AllocatorRequest& request) {
  KVPLAN_TRY(const MemoryLayout layout, one_range_layout(request, placement_of(choice)));
  std::optional<CopyCost> compaction;
  if (choice.text(kCompactParam.name) == "on-refusal") {
    KVPLAN_TRY(compaction, CopyCost::make(choice, request.token_bytes));
  }
  return std::unique_ptr<core::Allocator>(
      std::make_unique<T>(layout, lasting_text(choice, kReserveParam.name), request, compaction));
}

constexpr std::array<Param, 4> kParams{kFitParam, kReserveParam, kCompactParam, kCopyBandwidthParam};

}  // namespace

extern const AllocatorEntry kMember;
const AllocatorEntry kMember{
    .descriptor = {.family = "allocator",
                   .name = "contiguous",
                   .summary =
                       "One contiguous range per request, fully reserved at admission and freed at its end.",
                   .source =
                       "Kwon et al., SOSP 2023 (arXiv 2309.06180), sections 3.1 and 6.1 (Orca baselines)",
                   .params = kParams,
                   .spans = kOneRangeSpans},
    .make = make_contiguous<ContiguousAllocator>,
    .make_model = make_contiguous<ContiguousModel>,
    .shares_prefixes = false,
    .exact_ranges = true};

}  // namespace kvplan::memory::allocator_contiguous
