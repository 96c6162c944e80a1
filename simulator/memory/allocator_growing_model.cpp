// The slow, obvious model of allocator_growing.cpp: the content of every slot, looked at slot by slot. It shares the
// arithmetic of lengths with it (growing_range.h), but no placing.
#include <map>
#include <tuple>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/growing_range.h"

namespace kvplan::memory {
namespace {

using core::RangeMove;
using core::RangePlacement;

/// The state that a call may change.
struct SlotsModel {
  struct Range {
    std::int64_t first, slots;
  };
  std::vector<RequestId>
      /// The request that holds each slot, for itself or for a copy that reads it; kNoRequest: none
      slots;
  std::map<RequestId, Range> ranges;  ///< by request
  std::vector<RangeMove> copies;      ///< copies that have not ended
  std::vector<RangeMove> moves;       ///< moves of the latest call
  std::int64_t latest_end{0};

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(slots.size()); }
  [[nodiscard]] bool free(std::int64_t i) const {
    return i < size() && slots[static_cast<std::size_t>(i)] == kNoRequest;
  }
  void mark(std::int64_t first, std::int64_t count, RequestId from, RequestId to) {
    for (std::int64_t i = first; i < first + count; ++i) {
      RequestId& slot = slots[static_cast<std::size_t>(i)];
      KVPLAN_CHECK(slot == from, i, slot);
      slot = to;
    }
  }
  [[nodiscard]] bool in_copy(RequestId r) const {
    for (const RangeMove& copy : copies)
      if (copy.request == r) return true;
    return false;
  }
};

class GrowingModel final : public core::Allocator, public core::Placing {
 public:
  GrowingModel(const GrowingParts& parts, const AllocatorRequest& request)
      : layout_(parts.layout), rule_(parts.rule), copy_(parts.copy), workload_(*request.workload) {
    memory_.slots.assign(static_cast<std::size_t>(layout_.alloc_units), kNoRequest);
  }

  const core::MemoryLayout& layout() const override { return layout_; }
  core::PoolCounts counts() const override {
    std::int64_t held = 0;
    for (const auto& [r, range] : memory_.ranges) held += range.slots;
    for (const RangeMove& copy : memory_.copies) held += copy.from_slots;
    return {.free = layout_.alloc_units - held, .cached = 0, .held = held, .distinct_names = 0};
  }
  core::Placing* placing() override { return this; }
  std::int64_t growth_tokens() const override { return -1; }
  std::int64_t next_growth(RequestId r) const override { return memory_.ranges.at(r).slots; }
  bool fits_empty(RequestId r) const override {
    return rule_.fits(workload_.input[index(r)], workload_.final_tokens(r), layout_.alloc_units);
  }

  bool admit(RequestId r, const core::PrefixHit& /*found*/, std::int64_t /*tokens*/,
             std::int64_t goal) override {
    const std::int64_t length = rule_.at_first(goal);
    asked_ = length;
    return attempt([&](SlotsModel& memory) { return take(memory, length, r); });
  }
  bool grow(RequestId r, std::int64_t tokens) override {
    const std::int64_t has = memory_.ranges.at(r).slots;
    asked_ =
        rule_.in_place ? tokens - has : rule_.least(has, tokens);  // added in place, or length of the copy
    return attempt([&](SlotsModel& memory) { return grow_in(memory, r, tokens); });
  }
  core::Refusal refusal() const override {
    const auto idle = std::count(memory_.slots.begin(), memory_.slots.end(), kNoRequest);
    return idle < asked_ ? core::Refusal::kTooShort : core::Refusal::kFragmented;
  }
  std::span<const RangeMove> moves() const override { return memory_.moves; }
  void end_copies() override {
    for (const RangeMove& copy : memory_.copies)
      memory_.mark(copy.from, copy.from_slots, copy.request, kNoRequest);
    memory_.copies.clear();
  }
  Ticks take_delay(std::int64_t copied_tokens, Ticks /*computed*/) override {
    return copy_.of(copied_tokens);
  }

  void release(RequestId r, std::int64_t /*written*/) override {
    const SlotsModel::Range range = memory_.ranges.at(r);
    memory_.mark(range.first, range.slots, r, kNoRequest);
    memory_.ranges.erase(r);
    addresses_.erase(r);
  }
  core::BlockTable table(RequestId r) const override {
    const auto found = memory_.ranges.find(r);
    if (found == memory_.ranges.end()) return {};
    return {addresses_.at(r), found->second.slots};
  }

 private:
  /// Tries with memory as it is; if that fails and ranges may slide, tries again after sliding, on a copy of the state
  /// that is discarded if that fails too.
  template <class Try>
  bool attempt(Try success) {
    memory_.moves.clear();
    bool done = success(memory_);
    if (!done && rule_.compacts) {
      SlotsModel slid = memory_;
      slide(slid);
      done = success(slid);
      if (done) memory_ = std::move(slid);
    }
    if (done)
      for (const auto& [r, range] : memory_.ranges) addresses_[r] = {core::entry_of_amount(range.first)};
    return done;
  }

  /// False: nothing has changed.
  bool grow_in(SlotsModel& memory, RequestId r, std::int64_t tokens) const {
    const SlotsModel::Range old = memory.ranges.at(r);
    if (tokens <= old.slots) return true;
    const std::int64_t wanted = rule_.wanted(old.slots, tokens);
    std::int64_t length = old.slots;
    while (rule_.in_place && length < wanted && memory.free(old.first + length)) ++length;
    if (length >= tokens) {
      memory.mark(old.first + old.slots, length - old.slots, kNoRequest, r);
      memory.ranges.at(r).slots = length;
      return true;
    }
    if (!take(memory, wanted, r) && !take(memory, rule_.least(old.slots, tokens), r)) return false;
    const SlotsModel::Range range = memory.ranges.at(r);
    memory.moves.push_back({r, old.first, range.first, old.slots, range.slots, false});
    memory.copies.push_back(memory.moves.back());
    return true;
  }

  /// Takes the free range that the fit chooses from the list of all. False: none is long enough.
  bool take(SlotsModel& memory, std::int64_t length, RequestId r) const {
    std::vector<std::tuple<bool, std::int64_t, std::int64_t>> candidates;  // comes later, length, address
    for (std::int64_t begin = 0; begin < memory.size(); ++begin) {
      std::int64_t end = begin;
      while (memory.free(end)) ++end;
      if (end - begin >= length)
        candidates.emplace_back(layout_.ranges == RangePlacement::kNextFit && begin < memory.latest_end,
                                layout_.ranges == RangePlacement::kBestFit ? end - begin : 0, begin);
      if (end > begin) begin = end;
    }
    if (candidates.empty()) return false;
    const std::int64_t first = std::get<2>(*std::min_element(candidates.begin(), candidates.end()));
    memory.mark(first, length, kNoRequest, r);
    memory.ranges[r] = {first, length};
    memory.latest_end = first + length;
    return true;
  }

  /// From the lowest slot up, each range moves down slot by slot while the slot below it is free.
  static void slide(SlotsModel& memory) {
    for (std::int64_t i = 0; i < memory.size(); ++i) {
      const RequestId r = memory.slots[static_cast<std::size_t>(i)];
      if (r == kNoRequest || memory.in_copy(r) || memory.ranges.at(r).first != i) continue;
      SlotsModel::Range& range = memory.ranges.at(r);
      while (range.first > 0 && memory.free(range.first - 1)) {
        --range.first;
        memory.mark(range.first, 1, kNoRequest, r);
        memory.mark(range.first + range.slots, 1, r, kNoRequest);
      }
      if (range.first == i) continue;
      memory.moves.push_back({r, i, range.first, range.slots, range.slots, true});
    }
  }

  core::MemoryLayout layout_;
  GrowthRule rule_;
  CopyCost copy_;
  const core::Workload& workload_;
  SlotsModel memory_;
  std::map<RequestId, std::vector<BlockId>> addresses_;
  std::int64_t asked_{0};  ///< slots that the latest call asked for
};

}  // namespace

Result<std::unique_ptr<core::Allocator>> make_growing_model(const Choice& choice,
                                                            const AllocatorRequest& request) {
  KVPLAN_TRY(const GrowingParts parts, growing_parts(choice, request));
  return std::unique_ptr<core::Allocator>(std::make_unique<GrowingModel>(parts, request));
}

}  // namespace kvplan::memory
