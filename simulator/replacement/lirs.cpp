// LIRS: most of the cache belongs to blocks with a short time between their last two uses (LIR); the others (HIR)
// pass through a small queue. Stack S has all LIR blocks, and everything used since the oldest of them, by recency.
#include <algorithm>
#include <array>
#include <vector>

#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::lirs {
namespace {

/// While fewer than `lir_blocks` are LIR, new blocks become LIR. Afterwards: a HIR block that is used while it is in
/// S becomes LIR, and the oldest LIR block becomes HIR; a HIR block that is not in S goes to its top. The oldest
/// resident HIR block in the queue is evicted; if it is in S, it stays there as remembered. Only the latest
/// `history_blocks` evicted blocks are remembered. A referenced one is removed from them before a victim is chosen.
class Lirs {
 public:
  struct Params {
    std::int64_t lir_blocks{0};
    std::int64_t history_blocks{0};
  };
  Lirs(const Room& room, const Params& params)
      : params_(params), stack_(room.ids), queues_(room.ids), kind_(room.ids, kAbsent) {}
  void grow(Id ids) {
    stack_.grow(ids);
    queues_.grow(ids);
    if (kind_.size() < ids) kind_.resize(ids, kAbsent);
  }
  [[nodiscard]] bool resident(Id id) const { return kind_[id] == kLir || kind_[id] == kHir; }
  [[nodiscard]] std::int64_t size() const { return size_; }

  void touch(const Use& use) {
    const Id id = use.id;
    if (kind_[id] == kLir) {
      stack_.renew(0, id);
      queues_.renew(kMember, id);
      prune();
    } else if (stack_.linked(id)) {
      queues_.remove(id);
      stack_.renew(0, id);
      make_lir(id);
    } else {
      stack_.push(0, id);
      queues_.renew(kQueue, id);
      prune();  // if no block is LIR, the stack stays empty
    }
  }

  void insert(const Use& use) {
    const Id id = use.id;
    ++size_;
    recall(id);
    if (kind_[id] == kRecalled) {
      stack_.renew(0, id);
      make_lir(id);
      return;
    }
    stack_.push(0, id);
    if (lirs_ < params_.lir_blocks) {
      kind_[id] = kLir;
      queues_.push(kMember, id);
      ++lirs_;
      return;
    }
    kind_[id] = kHir;
    queues_.push(kQueue, id);
    prune();
  }

  template <class May>
  Id evict(const Use& incoming, const May& may) {
    if (incoming.id != kNoId) recall(incoming.id);
    const Id victim = queues_.first(kQueue, may);
    if (victim == kNoId) return evict_lir(may);
    queues_.remove(victim);
    --size_;
    if (stack_.linked(victim)) {
      remember(victim);
    } else {
      kind_[victim] = kAbsent;
    }
    return victim;
  }

  void erase(Id id) {
    --size_;
    if (kind_[id] == kLir) --lirs_;
    queues_.remove(id);
    kind_[id] = kAbsent;
    if (stack_.linked(id)) stack_.remove(id);
    prune();
  }
  void may_go(Id id) { queues_.may_go(id); }

 private:
  // kRecalled: in S, and remembered when it was referenced.
  static constexpr std::uint8_t kAbsent = 0, kLir = 1, kHir = 2, kRemembered = 3, kRecalled = 4;
  // Lists: resident HIR blocks; remembered blocks in order of eviction; LIR blocks in their order in S.
  static constexpr std::uint32_t kQueue = 0, kHistory = 1, kMember = 2;

  /// REQUIRES: the block is the youngest of the stack and in no queue.
  void make_lir(Id id) {
    kind_[id] = kLir;
    queues_.push(kMember, id);
    ++lirs_;
    if (lirs_ > params_.lir_blocks) {
      const Id oldest = stack_.oldest(0);
      stack_.remove(oldest);
      kind_[oldest] = kHir;
      queues_.renew(kQueue, oldest);
      --lirs_;
    }
    prune();
  }
  /// Removes blocks until the oldest of the stack is LIR, or the stack is empty.
  void prune() {
    for (Id id = stack_.oldest(0); id != kNoId && kind_[id] != kLir; id = stack_.oldest(0)) {
      stack_.remove(id);
      recall(id);
      if (kind_[id] == kRecalled) kind_[id] = kAbsent;
    }
  }
  void recall(Id id) {
    if (kind_[id] != kRemembered) return;
    queues_.remove(id);
    --remembered_;
    kind_[id] = kRecalled;
  }
  void remember(Id id) {
    kind_[id] = kRemembered;
    queues_.push(kHistory, id);
    if (++remembered_ <= params_.history_blocks) return;
    const Id oldest = queues_.oldest(kHistory);
    recall(oldest);
    kind_[oldest] = kAbsent;
    stack_.remove(oldest);
  }
  /// The oldest LIR block that may be evicted. Used only if no HIR block may be.
  template <class May>
  Id evict_lir(const May& may) {
    const Id victim = queues_.first(kMember, may);
    if (victim != kNoId) erase(victim);
    return victim;
  }

  Params params_;
  Links<1> stack_;
  Links<3> queues_;
  std::vector<std::uint8_t> kind_;
  std::int64_t size_{0}, lirs_{0}, remembered_{0};
};

constexpr std::array<Param, 3> kParams{{
    {.name = "hir",
     .help = "Share of the cache for HIR blocks (long reuse distance), at least one block",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0.01",
     .low = 0,
     .high = 1},
    {.name = "history",
     .help = "Size of the history of evicted blocks, as a multiple of the cache",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "2",
     .low = 0,
     .high = 100},
    kLeavesParam,
}};

Result<Lirs::Params> params_of(const Choice& choice, const Room& room) {
  KVPLAN_TRY(const std::int64_t hir, part_of(choice, "hir", room.capacity));
  KVPLAN_TRY(const std::int64_t history, part_of(choice, "history", room.capacity));
  return Lirs::Params{.lir_blocks = room.capacity - std::max<std::int64_t>(1, hir),
                      .history_blocks = history};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = priced(
    17'000,
    member<Lirs, params_of>({.family = "replacement",
                             .name = "lirs",
                             .summary = "LIRS: most of the cache holds blocks with a short time between "
                                        "their last two uses; other blocks pass through a queue.",
                             .source = "Jiang, Zhang 2002 (SIGMETRICS)",
                             .params = kParams}));

}  // namespace kvplan::replacement::lirs
