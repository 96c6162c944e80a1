// Contiguous memory with a reservation made once, at first admission: the way of serving before paging, as Orca and
// FasterTransformer are described in Kwon et al., SOSP 2023 (arXiv 2309.06180), sections 3.1 and 6.1.
//
// Fits, as Knuth, The Art of Computer Programming 1, section 2.5, has them; a request gets the low end of a free range:
// - first: the free range with the lowest address that is large enough;
// - best: the smallest that is large enough, of equal ones the lowest;
// - next: the first that is large enough of those that begin at or behind the end of the latest placement, else the
//   lowest.
// Neighbours coalesce when they come back.
#include <set>

#include "simulator/policies/one_range.h"

namespace kvplan::policies {
namespace {

using core::MemoryLayout;
using core::RangePlacement;

/// Free ranges by address, and by length where that is asked for. A size that was refused is refused again, without
/// a search, until something comes back.
class ContiguousAllocator final : public OneRangeAllocator {
 public:
  ContiguousAllocator(const MemoryLayout& layout, std::string_view reserve, const AllocatorRequest& request)
      : OneRangeAllocator(layout, reserve, request), fit_(layout.ranges), refused_slots_(layout.quanta + 1) {
    add(0, layout.quanta);
  }

 protected:
  std::int64_t place(std::int64_t slots) override {
    if (slots >= refused_slots_) return -1;
    const auto hole = find(slots);
    if (hole == holes_.end()) {
      refused_slots_ = slots;
      return -1;
    }
    const auto [address, length] = *hole;
    remove(hole);
    if (length > slots) add(address + slots, length - slots);
    latest_end_ = address + slots;
    return address;
  }

  void put_back(std::int64_t address, std::int64_t slots) override {
    refused_slots_ = total_slots() + 1;
    auto after = holes_.lower_bound(address);
    if (after != holes_.end() && after->first == address + slots) {
      slots += after->second;
      after = remove(after);
    }
    if (after != holes_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == address) {
        address = before->first;
        slots += before->second;
        remove(before);
      }
    }
    add(address, slots);
  }

 private:
  using Holes = std::map<std::int64_t, std::int64_t>;  // address -> length; never adjacent

  Holes::iterator find(std::int64_t slots) {
    if (fit_ == RangePlacement::kBestFit) {
      const auto smallest = lengths_.lower_bound({slots, 0});
      return smallest == lengths_.end() ? holes_.end() : holes_.find(smallest->second);
    }
    const auto search = [&](Holes::iterator from, Holes::iterator to) {
      return std::find_if(from, to, [&](const auto& hole) { return hole.second >= slots; });
    };
    const auto start = fit_ == RangePlacement::kNextFit ? holes_.lower_bound(latest_end_) : holes_.begin();
    const auto behind = search(start, holes_.end());
    if (behind != holes_.end()) return behind;
    const auto ahead = search(holes_.begin(), start);
    return ahead == start ? holes_.end() : ahead;
  }
  void add(std::int64_t address, std::int64_t length) {
    holes_.emplace(address, length);
    if (fit_ == RangePlacement::kBestFit) lengths_.emplace(length, address);
  }
  Holes::iterator remove(Holes::iterator hole) {
    if (fit_ == RangePlacement::kBestFit) lengths_.erase({hole->second, hole->first});
    return holes_.erase(hole);
  }

  RangePlacement fit_;
  Holes holes_;
  std::set<std::pair<std::int64_t, std::int64_t>> lengths_;  // (length, address), for best fit
  std::int64_t latest_end_{0};
  std::int64_t refused_slots_;
};

/// Slow obvious model: one flag per slot; every choice is made from the list of all free ranges.
class ContiguousModel final : public OneRangeAllocator {
 public:
  ContiguousModel(const MemoryLayout& layout, std::string_view reserve, const AllocatorRequest& request)
      : OneRangeAllocator(layout, reserve, request),
        fit_(layout.ranges),
        taken_(static_cast<std::size_t>(layout.quanta), false) {}

 protected:
  std::int64_t place(std::int64_t slots) override {
    struct Candidate {
      bool ahead;            // next fit comes to it later
      std::int64_t length;   // best fit
      std::int64_t address;  // ties, and first fit
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
  const std::string_view fit = choice.text("fit");
  KVPLAN_TRY(const MemoryLayout layout,
             one_range_layout(request, fit == "best"   ? RangePlacement::kBestFit
                                       : fit == "next" ? RangePlacement::kNextFit
                                                       : RangePlacement::kFirstFit));
  return std::unique_ptr<core::Allocator>(
      std::make_unique<T>(layout, lasting_text(choice, kReserveParam.name), request));
}

constexpr std::array<std::string_view, 3> kFits{"first", "best", "next"};
constexpr std::array<Param, 2> kParams{{
    {.name = "fit",
     .help = "Which free range is taken: the lowest that is large enough, the smallest, or the next behind "
             "the latest",
     .kind = ParamKind::kText,
     .unit = Unit::kNone,
     .fallback = "first",
     .low = 0,
     .high = 0,
     .choices = kFits},
    kReserveParam,
}};

}  // namespace

extern const AllocatorEntry kContiguousAllocator;
const AllocatorEntry kContiguousAllocator{
    .descriptor =
        {.family = "allocator",
         .name = "contiguous",
         .summary = "One range of memory per request, reserved whole at admission and returned at its end.",
         .source = "Kwon et al., SOSP 2023 (arXiv 2309.06180), sections 3.1 and 6.1 (Orca baselines)",
         .params = kParams,
         .spans = kOneRangeSpans},
    .make = make_contiguous<ContiguousAllocator>,
    .make_model = make_contiguous<ContiguousModel>,
    .shares_prefixes = false};

}  // namespace kvplan::policies
