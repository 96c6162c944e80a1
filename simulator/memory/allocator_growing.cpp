// Contiguous memory that grows with its request, like a vector (std::vector of libstdc++ 12 doubles) and like caches
// that append by concatenation (huggingface/transformers, DynamicCache: `torch.cat` copies all of it for every token:
// factor=1, step=1, in_place=false).
//
// A request gets room for what it computes before it samples a token, and `slack` more. When that is full it grows
// 1. in place, if free slots follow its range: up to the wanted length, `factor` times the old one or `step` more;
// 2. by copy: to a free range of the wanted length, else of the least one, `step` more than it had. Its content is
//    copied in the step; the old range is freed when the step ends, so both are held meanwhile;
// 3. with compact=on-refusal: held ranges slide down, the lowest first, if 1 or 2 succeeds then. Ranges of a copy in
//    progress stay where they are;
// 4. otherwise it is refused, and the scheduler preempts the youngest request.
#include <map>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/free_ranges.h"
#include "simulator/memory/growing_range.h"
#include "simulator/memory/one_range.h"

namespace kvplan::memory {
namespace {

using core::RangeMove;

class GrowingAllocator final : public core::Allocator, public core::Placing {
 public:
  GrowingAllocator(const GrowingParts& parts, const AllocatorRequest& request)
      : layout_(parts.layout),
        rule_(parts.rule),
        copy_(parts.copy),
        workload_(*request.workload),
        free_(layout_.ranges, layout_.alloc_units) {}

  const core::MemoryLayout& layout() const override { return layout_; }
  core::PoolCounts counts() const override {
    return {.free = layout_.alloc_units - held_, .cached = 0, .held = held_, .distinct_names = 0};
  }
  core::Placing* placing() override { return this; }
  std::int64_t growth_tokens() const override { return -1; }
  std::int64_t next_growth(RequestId r) const override { return holders_.at(r).slots; }
  bool fits_empty(RequestId r) const override {
    return rule_.fits(workload_.input[index(r)], workload_.final_tokens(r), layout_.alloc_units);
  }

  bool admit(RequestId r, const core::PrefixHit& /*found*/, std::int64_t tokens, std::int64_t goal) override {
    moves_.clear();
    const std::int64_t slots = rule_.at_first(goal);
    KVPLAN_CHECK(tokens <= slots, tokens, slots);
    std::int64_t address = free_.take(slots);
    if (address < 0 && rule_.compacts && idle() >= slots && after_sliding(nullptr).longest >= slots) {
      slide_down();
      address = free_.take(slots);
      KVPLAN_CHECK(address >= 0, slots);
    }
    if (address < 0) return refuse(slots);
    held_ += slots;
    holders_[r] = {slots, {core::entry_of_amount(address)}};
    return true;
  }

  bool grow(RequestId r, std::int64_t tokens) override {
    moves_.clear();
    Holder& holder = holders_.at(r);
    if (tokens <= holder.slots || try_to_grow(r, holder, tokens)) return true;
    const std::int64_t more = tokens - holder.slots;
    const std::int64_t least = rule_.least(holder.slots, tokens);
    const std::int64_t asked = rule_.in_place ? more : least;
    if (!rule_.compacts || idle() < more) return refuse(asked);
    const AfterSliding then = after_sliding(&holder);
    const bool in_place = rule_.in_place && then.behind >= more;
    if (!in_place && then.longest < least) return refuse(asked);
    slide_down();
    const bool grown = try_to_grow(r, holder, tokens);
    KVPLAN_CHECK(grown, r, tokens);
    return true;
  }

  core::Refusal refusal() const override { return refusal_; }
  std::span<const RangeMove> moves() const override { return moves_; }
  void end_copies() override {
    for (const RangeMove& copy : copies_) {
      free_.give_back(copy.from, copy.from_slots);
      held_ -= copy.from_slots;
    }
    copies_.clear();
  }
  Ticks take_delay(std::int64_t copied_tokens, Ticks /*computed*/) override {
    return copy_.of(copied_tokens);
  }

  void release(RequestId r, std::int64_t /*written*/) override {
    KVPLAN_CHECK(!in_copy(r), r);
    const auto holder = holders_.find(r);
    held_ -= holder->second.slots;
    free_.give_back(holder->second.begin(), holder->second.slots);
    holders_.erase(holder);
  }
  core::BlockTable table(RequestId r) const override {
    const auto holder = holders_.find(r);
    if (holder == holders_.end()) return {};
    return {holder->second.address, holder->second.slots};
  }

 private:
  struct Holder {
    std::int64_t slots{0};
    std::vector<BlockId> address;
    [[nodiscard]] std::int64_t begin() const { return core::amount_of_entry(address.front()); }
    [[nodiscard]] std::int64_t end() const { return begin() + slots; }
  };

  [[nodiscard]] std::int64_t idle() const { return layout_.alloc_units - held_; }
  /// Returns false. `slots`: with this number of free slots in the right place the answer would be
  /// true.
  bool refuse(std::int64_t slots) {
    refusal_ = idle() >= slots ? core::Refusal::kFragmented : core::Refusal::kTooShort;
    return false;
  }
  [[nodiscard]] bool in_copy(RequestId r) const {
    return std::any_of(copies_.begin(), copies_.end(), [r](const RangeMove& c) { return c.request == r; });
  }

  /// Grows in place or by copy, without moving other ranges.
  bool try_to_grow(RequestId r, Holder& holder, std::int64_t tokens) {
    const std::int64_t wanted = rule_.wanted(holder.slots, tokens);
    const std::int64_t behind = rule_.in_place ? free_.free_at(holder.end()) : 0;
    if (holder.slots + behind >= tokens) {
      const std::int64_t more = std::min(wanted - holder.slots, behind);
      free_.take_at(holder.end(), more);
      holder.slots += more;
      held_ += more;
      return true;
    }
    std::int64_t slots = wanted;
    std::int64_t address = free_.take(slots);
    if (address < 0) address = free_.take(slots = rule_.least(holder.slots, tokens));
    if (address < 0) return false;
    const RangeMove copy{r, holder.begin(), address, holder.slots, slots, false};
    moves_.push_back(copy);
    copies_.push_back(copy);
    held_ += slots;
    holder = {slots, {core::entry_of_amount(copy.to)}};
    return true;
  }

  // ---- sliding ----

  struct Held {
    std::int64_t address, slots;
    RequestId request;
    bool stays;  ///< read or written by a copy
    auto operator<=>(const Held&) const = default;
  };
  /// Held ranges by address; includes ranges that copies read.
  [[nodiscard]] std::vector<Held> held_ranges() const {
    std::vector<Held> out;
    for (const auto& [r, holder] : holders_) out.push_back({holder.begin(), holder.slots, r, in_copy(r)});
    for (const RangeMove& copy : copies_) out.push_back({copy.from, copy.from_slots, copy.request, true});
    std::sort(out.begin(), out.end());
    return out;
  }

  struct AfterSliding {
    std::int64_t longest{0};  ///< length of the longest free range
    std::int64_t behind{0};   ///< free slots after the range of the latest refused request
  };
  [[nodiscard]] AfterSliding after_sliding(const Holder* asked) const {
    AfterSliding out;
    std::int64_t end = 0;  // end of the ranges below
    bool is_asked = false;
    const auto close_at = [&](std::int64_t address) {
      out.longest = std::max(out.longest, address - end);
      if (is_asked) out.behind = address - end;
    };
    for (const Held& range : held_ranges()) {
      if (range.stays) {
        close_at(range.address);
        end = range.address;
      }
      end += range.slots;
      is_asked = asked != nullptr && range.address == asked->begin();
    }
    close_at(layout_.alloc_units);
    return out;
  }

  void slide_down() {
    std::int64_t end = 0;
    for (const Held& range : held_ranges()) {
      if (range.stays) {
        end = range.address + range.slots;
        continue;
      }
      if (range.address > end) {
        free_.slide(range.address, end, range.slots);
        moves_.push_back({range.request, range.address, end, range.slots, range.slots, true});
        holders_.at(range.request).address = {core::entry_of_amount(end)};
      }
      end += range.slots;
    }
  }

  core::MemoryLayout layout_;
  GrowthRule rule_;
  CopyCost copy_;
  const core::Workload& workload_;
  FreeRanges free_;
  std::int64_t held_{0};  ///< includes ranges that copies read
  std::map<RequestId, Holder> holders_;
  std::vector<RangeMove> moves_;   // of the latest call
  std::vector<RangeMove> copies_;  // copies that have not ended
  core::Refusal refusal_{core::Refusal::kNone};
};

Result<std::unique_ptr<core::Allocator>> make_growing(const Choice& choice, const AllocatorRequest& request) {
  KVPLAN_TRY(const GrowingParts parts, growing_parts(choice, request));
  return std::unique_ptr<core::Allocator>(std::make_unique<GrowingAllocator>(parts, request));
}

constexpr std::array<Param, 7> kGrowingParams{{
    kFitParam,
    {.name = "slack",
     .help = "Tokens reserved at admission in addition to the prompt",
     .kind = ParamKind::kInteger,
     .unit = Unit::kTokens,
     .fallback = "0",
     .low = 0,
     .high = 1 << 30},
    {.name = "factor",
     .help = "Growth factor of a full range, if memory allows",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "2",
     .low = 1,
     .high = 1024},
    {.name = "step",
     .help = "Minimum number of tokens by which a full range grows",
     .kind = ParamKind::kInteger,
     .unit = Unit::kTokens,
     .fallback = "1",
     .low = 1,
     .high = 1 << 30},
    {.name = "in_place",
     .help = "Whether a range grows without a copy if the memory after it is free",
     .kind = ParamKind::kFlag,
     .unit = Unit::kNone,
     .fallback = "true"},
    kCompactParam,
    kCopyBandwidthParam,
}};

}  // namespace

Result<GrowingParts> growing_parts(const Choice& choice, const AllocatorRequest& request) {
  KVPLAN_TRY(const core::MemoryLayout layout, one_range_layout(request, placement_of(choice)));
  KVPLAN_TRY(const CopyCost copy, CopyCost::make(choice, request.token_bytes));
  const auto factor = decimal_times_power_of_two(choice.text("factor"), GrowthRule::kFactorBits);
  if (!factor) return bad_input("expected a number as a plain decimal").at_field("growing:factor");
  const GrowthRule rule{.slack = choice.integer("slack"),
                        .factor = *factor,
                        .step = choice.integer("step"),
                        .in_place = choice.flag("in_place"),
                        .compacts = choice.text(kCompactParam.name) == "on-refusal",
                        .longest = std::min(request.max_model_len, layout.alloc_units)};
  return GrowingParts{layout, rule, copy};
}

namespace allocator_growing {
extern const AllocatorEntry kMember;
}  // namespace allocator_growing
const AllocatorEntry allocator_growing::kMember{
    .descriptor =
        {.family = "allocator",
         .name = "growing",
         .summary =
             "One contiguous range per request that grows with it, in place or by a copy to a larger range.",
         .source =
             "realloc of C and std::vector of libstdc++ 12 (factor 2); factor=1,step=1 without in_place: "
             "torch.cat in huggingface/transformers' DynamicCache",
         .params = kGrowingParams,
         .spans = kOneRangeSpans},
    .make = make_growing,
    .make_model = make_growing_model,
    .shares_prefixes = false};

}  // namespace kvplan::memory
