// LRU-K: the block with the longest time since its K-th last use is evicted. Blocks with fewer than K uses are
// evicted before all others, the least recently used first.
#include <array>
#include <compare>
#include <vector>

#include "simulator/replacement/keyed_heap.h"
#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::lru_k {
namespace {

/// Time is counted in uses of all blocks; every use counts (no correlated reference period). The uses of an evicted
/// block are remembered while it is among the latest `history_blocks` evicted ones.
class LruK {
 public:
  static constexpr std::uint32_t kMostUses = 8;
  struct Params {
    std::uint32_t uses{2};  ///< K, at most kMostUses
    std::int64_t history_blocks{0};
  };
  LruK(const Room& room, const Params& params) : params_(params), heap_(room.ids), history_(0) {
    grow(room.ids);
  }
  void grow(Id ids) {
    heap_.grow(ids);
    history_.grow(ids);
    if (known_.size() < ids) known_.resize(ids, 0);
    if (times_.size() < std::size_t{ids} * params_.uses) times_.resize(std::size_t{ids} * params_.uses, 0);
  }
  [[nodiscard]] bool resident(Id id) const { return heap_.holds(id); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) {
    note(use.id);
    heap_.update(use.id, key_of(use.id));
  }
  void insert(const Use& use) {
    recall(use.id);
    note(use.id);
    heap_.push(use.id, key_of(use.id));
    ++size_;
  }
  template <class May>
  Id evict(const Use& incoming, const May& may) {
    if (incoming.id != kNoId) recall(incoming.id);
    const Id victim = heap_.first(may);
    if (victim == kNoId) return kNoId;
    const std::uint32_t known = known_[victim];
    erase(victim);
    if (params_.history_blocks > 0) remember(victim, known);
    return victim;
  }
  void erase(Id id) {
    heap_.remove(id);
    known_[id] = 0;
    --size_;
  }
  void may_go(Id id) { heap_.may_go(id); }

 private:
  struct Key {
    bool complete;       // true: K uses are known
    std::uint64_t time;  // time of the K-th last use, or of the last
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  /// The latest uses of a block, the last one first.
  [[nodiscard]] std::uint64_t* times_of(Id id) { return &times_[std::size_t{id} * params_.uses]; }
  void note(Id id) {
    std::uint64_t* const times = times_of(id);
    for (std::uint32_t k = params_.uses - 1; k > 0; --k) times[k] = times[k - 1];
    times[0] = ++now_;
    if (known_[id] < params_.uses) ++known_[id];
  }
  [[nodiscard]] Key key_of(Id id) {
    const bool complete = known_[id] == params_.uses;
    return {complete, times_of(id)[complete ? params_.uses - 1 : 0]};
  }
  /// Removes a referenced block from the history; its uses are kept.
  void recall(Id id) {
    if (!history_.linked(id)) return;
    history_.remove(id);
    --remembered_;
  }
  void remember(Id id, std::uint32_t known) {
    if (remembered_ == params_.history_blocks) {
      const Id oldest = history_.oldest(0);
      history_.remove(oldest);
      known_[oldest] = 0;
      --remembered_;
    }
    history_.push(0, id);
    known_[id] = static_cast<std::uint8_t>(known);
    ++remembered_;
  }

  Params params_;
  KeyedHeap<Key> heap_;
  Links<1> history_;
  std::vector<std::uint8_t> known_;   // number of known uses, by id
  std::vector<std::uint64_t> times_;  // K times for each id
  std::uint64_t now_{0};
  std::int64_t size_{0}, remembered_{0};
};

constexpr std::array<Param, 3> kParams{{
    {.name = "k",
     .help = "K: the number of latest uses that are remembered",
     .kind = ParamKind::kInteger,
     .fallback = "2",
     .low = 1,
     .high = LruK::kMostUses},
    {.name = "history",
     .help = "Size of the history of evicted blocks, as a multiple of the cache",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "1",
     .low = 0,
     .high = 100},
    kLeavesParam,
}};

Result<LruK::Params> params_of(const Choice& choice, const Room& room) {
  KVPLAN_TRY(const std::int64_t history, part_of(choice, "history", room.capacity));
  return LruK::Params{.uses = static_cast<std::uint32_t>(choice.integer("k")), .history_blocks = history};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = member<LruK, params_of>(
    {.family = "replacement",
     .name = "lru-k",
     .summary =
         "Evicts the block with the oldest K-th latest use; blocks with fewer than K uses are evicted first.",
     .source = "O'Neil, O'Neil, Weikum 1993 (SIGMOD), no correlated reference period",
     .params = kParams});

}  // namespace kvplan::replacement::lru_k
