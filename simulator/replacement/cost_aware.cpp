// Greedy dual by the cost of recomputing: priority = L + cost (times uses). The block of least priority is evicted, and
// L becomes its priority. A block costs `flat` for the work of every token, and 1 for each block before it in its
// prompt, because it attends to those.
#include <array>
#include <compare>
#include <vector>

#include "simulator/replacement/keyed_heap.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::cost_aware {
namespace {

/// The priority is computed anew at every use, with the depth of that use. Of blocks with equal priority the one with
/// the oldest priority is evicted. Deep blocks stay longer than the blocks before them, without which they are useless,
/// so use the parameter `leaves`.
class CostAware {
 public:
  struct Params {
    std::int64_t flat{60};
    bool count_uses{true};  ///< the cost is multiplied by the uses since the block was inserted
  };
  CostAware(const Room& room, const Params& params) : params_(params), heap_(room.ids), uses_(room.ids, 0) {}
  void grow(Id ids) {
    heap_.grow(ids);
    if (uses_.size() < ids) uses_.resize(ids, 0);
  }
  [[nodiscard]] bool resident(Id id) const { return heap_.holds(id); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) {
    ++uses_[use.id];
    heap_.update(use.id, key_of(use));
  }
  void insert(const Use& use) {
    uses_[use.id] = 1;
    heap_.push(use.id, key_of(use));
    ++size_;
  }
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    const Id victim = heap_.first(may);
    if (victim == kNoId) return kNoId;
    floor_ = heap_.key(victim).priority;
    erase(victim);
    return victim;
  }
  void erase(Id id) {
    heap_.remove(id);
    --size_;
  }
  void may_go(Id id) { heap_.may_go(id); }

 private:
  struct Key {
    std::uint64_t priority, turn;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  [[nodiscard]] Key key_of(const Use& use) {
    const std::uint64_t cost = static_cast<std::uint64_t>(params_.flat) + use.depth;
    return {floor_ + cost * (params_.count_uses ? uses_[use.id] : 1), ++turn_};
  }

  Params params_;
  KeyedHeap<Key> heap_;
  std::vector<std::uint32_t> uses_;
  std::uint64_t floor_{0};  // L
  std::uint64_t turn_{0};
  std::int64_t size_{0};
};

constexpr std::array<Param, 3> kParams{{
    {.name = "flat",
     .help = "Fixed cost of recomputing a block, in units of the cost per earlier block",
     .kind = ParamKind::kInteger,
     .fallback = "60",
     .low = 0,
     .high = 1000000000},
    {.name = "count_uses",
     .help = "Whether the cost is multiplied by the number of uses since insertion",
     .kind = ParamKind::kFlag,
     .fallback = "true"},
    kLeavesParam,
}};

Result<CostAware::Params> params_of(const Choice& choice, const Room& /*room*/) {
  return CostAware::Params{.flat = choice.integer("flat"), .count_uses = choice.flag("count_uses")};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = member<CostAware, params_of>(
    {.family = "replacement",
     .name = "cost-aware",
     .summary = "Greedy dual by recompute cost: a block costs a fixed part plus one unit per block before it "
                "in its prompt.",
     .source = "Young 1994 (Algorithmica 11(6)), greedy dual; the cost is kvplan's",
     .params = kParams});

}  // namespace kvplan::replacement::cost_aware
