// The slow obvious model of allocator_growing.cpp: what is in every slot, looked at slot by slot. Shares the arithmetic
// of lengths with it (growing_range.h), and no placing.
#include <map>
#include <tuple>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/policies/growing_range.h"

namespace kvplan::policies {
namespace {

using core::RangeMove;
using core::RangePlacement;

/// A slot is free, of a request, or read by a copy of a request's range.
struct Slot {
  RequestId request{-1};
  bool read{false};
  bool operator==(const Slot&) const = default;
};

/// All that a call may change; a call that fails leaves the old one.
struct Memory {
  std::vector<Slot> slots;
  std::vector<RangeMove> copies;  ///< that are not done
  std::vector<RangeMove> moves;   ///< of the latest call
  std::int64_t latest_end{0};

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(slots.size()); }
  Slot& at(std::int64_t i) { return slots[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Slot& at(std::int64_t i) const { return slots[static_cast<std::size_t>(i)]; }
  [[nodiscard]] bool free(std::int64_t i) const { return i < size() && at(i) == Slot{}; }
  [[nodiscard]] std::int64_t first_of(RequestId r) const {
    for (std::int64_t i = 0; i < size(); ++i)
      if (at(i) == Slot{r, false}) return i;
    return -1;
  }
  [[nodiscard]] std::int64_t count_of(RequestId r) const {
    std::int64_t count = 0;
    for (const Slot& slot : slots) count += slot == Slot{r, false} ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool in_copy(RequestId r) const {
    for (const RangeMove& copy : copies)
      if (copy.request == r) return true;
    return false;
  }
};

class GrowingModel final : public core::Allocator {
 public:
  GrowingModel(const GrowingParts& parts, const AllocatorRequest& request)
      : layout_(parts.layout), rule_(parts.rule), copy_(parts.copy), workload_(*request.workload) {
    memory_.slots.resize(static_cast<std::size_t>(layout_.quanta));
  }

  const core::MemoryLayout& layout() const override { return layout_; }
  core::PoolCounts counts() const override {
    core::PoolCounts counts;
    for (const Slot& slot : memory_.slots) ++(slot == Slot{} ? counts.free : counts.held);
    return counts;
  }
  std::int64_t growth_tokens() const override { return -1; }
  std::int64_t next_growth(RequestId r) const override { return memory_.count_of(r); }
  bool fits_empty(RequestId r) const override {
    return rule_.fits(workload_.input[static_cast<std::size_t>(r)], workload_.final_tokens(r),
                      layout_.quanta);
  }
  core::Found lookup(RequestId /*r*/, std::int64_t num_tokens) override {
    to_compute_ = num_tokens;
    return {};
  }
  std::uint64_t lookup_epoch() const override { return 0; }

  bool admit(RequestId r, const core::Found& /*found*/, std::int64_t /*tokens*/) override {
    const std::int64_t length = rule_.at_first(to_compute_);
    return attempt(r, [&](Memory& memory) { return take(memory, length, r) >= 0; });
  }
  bool grow(RequestId r, std::int64_t tokens) override {
    return attempt(r, [&](Memory& memory) { return grow_in(memory, r, tokens); });
  }
  std::span<const RangeMove> moves() const override { return memory_.moves; }
  void end_copies() override {
    for (Slot& slot : memory_.slots)
      if (slot.read) slot = {};
    memory_.copies.clear();
  }
  Ticks take_delay(std::int64_t copied_tokens) override { return copy_.of(copied_tokens); }

  void publish(RequestId /*r*/, std::int64_t /*tokens*/) override {}
  Dropped drop(RequestId /*r*/, std::int64_t /*sink*/, std::int64_t /*begin*/,
               std::int64_t /*written*/) override {
    return {};
  }
  void release(RequestId r, std::int64_t /*written*/) override {
    for (Slot& slot : memory_.slots)
      if (slot.request == r) slot = {};
    addresses_.erase(r);
  }
  void forget(RequestId r) override { KVPLAN_CHECK(memory_.count_of(r) == 0, r); }
  std::span<const BlockId> table(RequestId r) const override {
    const auto found = addresses_.find(r);
    return found == addresses_.end() ? std::span<const BlockId>{} : found->second;
  }
  std::int64_t table_quanta(RequestId r) const override { return memory_.count_of(r); }

 private:
  /// As memory is; then, if ranges may slide, after that.
  template <class Try>
  bool attempt(RequestId r, Try success) {
    for (const bool slid : {false, true}) {
      if (slid && !rule_.compacts) continue;
      Memory memory = memory_;
      memory.moves.clear();
      if (slid) slide(memory);
      if (!success(memory)) continue;
      memory_ = std::move(memory);
      addresses_[r] = {};
      for (auto& [holder, address] : addresses_) address = {static_cast<BlockId>(memory_.first_of(holder))};
      return true;
    }
    return false;
  }

  bool grow_in(Memory& memory, RequestId r, std::int64_t tokens) const {
    const std::int64_t slots = memory.count_of(r);
    if (tokens <= slots) return true;
    const std::int64_t first = memory.first_of(r);
    const std::int64_t wanted = rule_.wanted(slots, tokens);
    std::int64_t end = first + slots;
    while (rule_.in_place && memory.free(end)) ++end;
    if (end - first >= tokens) {
      for (std::int64_t i = first + slots; i < std::min(end, first + wanted); ++i) memory.at(i) = {r, false};
      return true;
    }
    for (const std::int64_t length : {wanted, rule_.least(slots, tokens)}) {
      const std::int64_t to = take(memory, length, r);
      if (to < 0) continue;
      for (std::int64_t i = first; i < first + slots; ++i) memory.at(i).read = true;
      const RangeMove copy{r, static_cast<BlockId>(first), static_cast<BlockId>(to), slots, length, false};
      memory.moves.push_back(copy);
      memory.copies.push_back(copy);
      return true;
    }
    return false;
  }

  /// The free range that the fit chooses, from the list of all; -1 if none is long enough.
  std::int64_t take(Memory& memory, std::int64_t length, RequestId r) const {
    std::vector<std::tuple<bool, std::int64_t, std::int64_t>> candidates;  // comes later, length, address
    for (std::int64_t begin = 0; begin < memory.size(); ++begin) {
      std::int64_t end = begin;
      while (memory.free(end)) ++end;
      if (end - begin >= length)
        candidates.emplace_back(layout_.ranges == RangePlacement::kNextFit && begin < memory.latest_end,
                                layout_.ranges == RangePlacement::kBestFit ? end - begin : 0, begin);
      if (end > begin) begin = end;
    }
    if (candidates.empty()) return -1;
    const std::int64_t address = std::get<2>(*std::min_element(candidates.begin(), candidates.end()));
    for (std::int64_t i = address; i < address + length; ++i) memory.at(i) = {r, false};
    memory.latest_end = address + length;
    return address;
  }

  /// From the lowest slot up, each range goes down by single slots as long as the one below it is free.
  static void slide(Memory& memory) {
    for (std::int64_t i = 0; i < memory.size(); ++i) {
      const Slot held = memory.at(i);
      if (held == Slot{} || held.read || memory.in_copy(held.request)) continue;
      const std::int64_t length = memory.count_of(held.request);
      std::int64_t to = i;
      for (; to > 0 && memory.free(to - 1); --to) {
        memory.at(to - 1) = held;
        memory.at(to - 1 + length) = {};
      }
      if (to != i)
        memory.moves.push_back(
            {held.request, static_cast<BlockId>(i), static_cast<BlockId>(to), length, length, true});
      i = to + length - 1;
    }
  }

  core::MemoryLayout layout_;
  GrowthRule rule_;
  CopyCost copy_;
  const core::Workload& workload_;
  Memory memory_;
  std::map<RequestId, std::vector<BlockId>> addresses_;
  std::int64_t to_compute_{0};
};

}  // namespace

Result<std::unique_ptr<core::Allocator>> make_growing_model(const Choice& choice,
                                                            const AllocatorRequest& request) {
  KVPLAN_TRY(const GrowingParts parts, growing_parts(choice, request));
  return std::unique_ptr<core::Allocator>(std::make_unique<GrowingModel>(parts, request));
}

}  // namespace kvplan::policies
