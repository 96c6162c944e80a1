// Shared by allocators that give a request one range of memory. It is reserved once, at the first admission:
// - `oracle` reserves what the request will use (L + O - 1); `max` the longest request that the model allows; `pow2`
//   the least power of two that holds L + O - 1; `output-pow2` the prompt and the least power of two that holds the
//   output (without its last token, which is never written). None reserves more than `max`. With `buddy`, the three
//   Orca baselines of Kwon et al., SOSP 2023 (arXiv 2309.06180), section 6.1, are oracle, output-pow2 and max: a true
//   output of 25 tokens reserves 32.
// Also compaction: if the free slots would suffice but no free range does, held ranges slide together.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/allocators.h"
#include "simulator/memory/copy_cost.h"

namespace kvplan::memory {

/// Tokens that the rule `reserve` keeps for a request.
inline std::int64_t reserved_tokens(std::string_view reserve, const core::Workload& workload, RequestId r,
                                    std::int64_t max_model_len) {
  const std::int64_t used = workload.final_tokens(r);
  if (reserve == "oracle") return used;
  if (reserve == "max") return max_model_len;
  const std::int64_t prompt = workload.input[index(r)];
  const std::int64_t as_it_is = reserve == "output-pow2" ? prompt - 1 : 0;
  std::int64_t power = 1;
  while (as_it_is + power < used) power *= 2;
  return std::min(as_it_is + power, max_model_len);
}

/// A reservation made once, at first admission, in one range. Members and their models decide which slots are free,
/// where a range goes, and how ranges slide: the lowest first, each as far down as it can.
class OneRangeAllocator : public core::Allocator, public core::Placing {
 public:
  /// `compaction`: the cost of sliding; absent where ranges do not slide.
  OneRangeAllocator(const core::MemoryLayout& layout, std::string_view reserve,
                    const AllocatorRequest& request, const std::optional<CopyCost>& compaction = {})
      : layout_(layout),
        workload_(*request.workload),
        reserve_(reserve),
        max_model_len_(request.max_model_len),
        compaction_(compaction),
        holder_of_(request.places()) {}

  const core::MemoryLayout& layout() const override { return layout_; }
  core::PoolCounts counts() const override {
    return {.free = layout_.alloc_units - held_, .cached = 0, .held = held_, .distinct_names = 0};
  }
  core::Placing* placing() override { return compaction_ ? this : nullptr; }
  std::int64_t growth_tokens() const override { return 0; }
  bool fits_empty(RequestId r) const override { return granted(reservation(r)) <= most_in_a_row(); }

  bool admit(RequestId r, const core::PrefixHit& /*found*/, std::int64_t tokens,
             std::int64_t /*goal*/) override {
    const std::int64_t slots = granted(reservation(r));
    KVPLAN_CHECK(tokens <= slots, tokens, slots);
    moves_.clear();
    std::int64_t address = place(slots);
    if (address < 0 && compaction_ && layout_.alloc_units - held_ >= slots) {
      slide_down();
      address = place(slots);
      KVPLAN_CHECK(address >= 0, slots);
    }
    if (address < 0) {
      // compare the demand before it is rounded up
      const bool enough = layout_.alloc_units - held_ >= reservation(r);
      refusal_ = enough ? core::Refusal::kFragmented : core::Refusal::kTooShort;
      return false;
    }
    held_ += slots;
    KVPLAN_CHECK(holder_of_[r] < 0, r);
    if (idle_holders_.empty()) {
      idle_holders_.push_back(static_cast<std::int32_t>(holders_.size()));
      holders_.emplace_back();
    }
    holder_of_[r] = idle_holders_.back();
    idle_holders_.pop_back();
    at(r) = {r, slots, core::entry_of_amount(address)};
    return true;
  }
  core::Refusal refusal() const override { return refusal_; }
  bool grow(RequestId r, std::int64_t tokens) override {
    KVPLAN_CHECK(tokens <= at(r).slots, tokens);
    moves_.clear();
    return true;
  }
  std::span<const core::RangeMove> moves() const override { return moves_; }
  Ticks take_delay(std::int64_t copied_tokens, Ticks /*computed*/) override {
    return compaction_->of(copied_tokens);
  }
  void release(RequestId r, std::int64_t /*written*/) override {
    Holder& holder = at(r);
    held_ -= holder.slots;
    put_back(core::amount_of_entry(holder.address), holder.slots);
    holder.slots = 0;
    idle_holders_.push_back(holder_of_[r]);
    holder_of_[r] = -1;
  }
  core::BlockTable table(RequestId r) const override {
    const std::int32_t place = holder_of_[r];
    if (place < 0) return {};
    const Holder& holder = holders_[static_cast<std::size_t>(place)];
    return {{&holder.address, 1}, holder.slots};
  }

 protected:
  /// Takes `slots` free slots in a row. Returns their address, or -1.
  virtual std::int64_t place(std::int64_t slots) = 0;
  virtual void put_back(std::int64_t address, std::int64_t slots) = 0;
  /// Slides all held ranges down, and calls `moved` for each that moved. Called only with compaction.
  virtual void slide_down() { KVPLAN_CHECK(false, held_); }
  struct Held {
    std::int64_t address, slots;
    RequestId request;
    auto operator<=>(const Held&) const = default;
  };
  /// Held ranges, ordered by address.
  [[nodiscard]] std::vector<Held> held_ranges() const {
    std::vector<Held> out;
    for (const Holder& holder : holders_)
      if (holder.slots > 0)
        out.push_back({core::amount_of_entry(holder.address), holder.slots, holder.request});
    std::sort(out.begin(), out.end());
    return out;
  }
  void moved(const Held& range, std::int64_t to) {
    moves_.push_back({range.request, range.address, to, range.slots, range.slots, true});
    at(range.request).address = core::entry_of_amount(to);
  }
  /// Slots that are taken for a reservation of `slots`, at least `slots`.
  [[nodiscard]] virtual std::int64_t granted(std::int64_t slots) const { return slots; }
  /// The longest range that an empty pool can give.
  [[nodiscard]] virtual std::int64_t most_in_a_row() const { return layout_.alloc_units; }
  [[nodiscard]] std::int64_t total_slots() const { return layout_.alloc_units; }

 private:
  struct Holder {
    RequestId request{0};
    std::int64_t slots{0};  ///< 0: held by no request
    BlockId address{0};
  };

  Holder& at(RequestId r) {
    const std::int32_t place = holder_of_[r];
    KVPLAN_CHECK(place >= 0, r);
    return holders_[static_cast<std::size_t>(place)];
  }

  [[nodiscard]] std::int64_t reservation(RequestId r) const {
    return reserved_tokens(reserve_, workload_, r, max_model_len_);
  }

  core::MemoryLayout layout_;
  const core::Workload& workload_;
  std::string_view reserve_;
  std::int64_t max_model_len_;
  std::optional<CopyCost> compaction_;
  std::int64_t held_{0};
  core::Refusal refusal_{core::Refusal::kNone};
  core::RequestColumn<std::int32_t> holder_of_;  // by request: index of its range, -1 = none
  std::deque<Holder> holders_;  // entries stay where they are, because tables point into them
  std::vector<std::int32_t> idle_holders_;
  std::vector<core::RangeMove> moves_;
};

inline constexpr std::array<std::string_view, 4> kReserves{"oracle", "max", "pow2", "output-pow2"};
inline constexpr Param kReserveParam{
    .name = "reserve",
    .help =
        "Reserved length: the actual final length (oracle), the longest allowed request (max), the next "
        "power of two (pow2), or the prompt plus the next power of two of the output (output-pow2)",
    .kind = ParamKind::kText,
    .unit = Unit::kNone,
    .fallback = "max",
    .low = 0,
    .high = 0,
    .choices = kReserves};

inline constexpr std::string_view kOneRangeSpans =
    "One range holds all tokens of a request in all layers and KV heads. Eviction frees nothing before the "
    "request ends.";

inline constexpr std::array<std::string_view, 3> kFits{"first", "best", "next"};
inline constexpr Param kFitParam{
    .name = "fit",
    .help =
        "Which free range is taken: the lowest large enough (first), the smallest large enough (best), or "
        "the first large enough after the latest allocation (next)",
    .kind = ParamKind::kText,
    .unit = Unit::kNone,
    .fallback = "first",
    .low = 0,
    .high = 0,
    .choices = kFits};
core::RangePlacement placement_of(const Choice& choice);

inline constexpr std::array<std::string_view, 2> kCompactions{"never", "on-refusal"};
inline constexpr Param kCompactParam{.name = "compact",
                                     .help =
                                         "Whether allocated ranges are moved together when the total free "
                                         "memory suffices for a request but no single free range does",
                                     .kind = ParamKind::kText,
                                     .unit = Unit::kNone,
                                     .fallback = "never",
                                     .low = 0,
                                     .high = 0,
                                     .choices = kCompactions};

/// The layout; one slot is one token. Errors: a pool given in blocks, or of an impossible size.
Result<core::MemoryLayout> one_range_layout(const AllocatorRequest& request, core::RangePlacement ranges);

/// The value of a parameter as text that stays valid after the choice is gone: the copy in the descriptor.
std::string_view lasting_text(const Choice& choice, std::string_view param);

}  // namespace kvplan::memory
