// ARC: two LRU lists, of blocks used once (T1) and of blocks used again (T2), and the ids that each evicted lately
// (B1, B2). A reference to an id in B1 or B2 moves the target size of T1.
#include <algorithm>
#include <vector>

#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::arc {
namespace {

/// The paper's algorithm with a real-valued target. A reference to a remembered block moves the target; the block is
/// forgotten before a victim is chosen, and goes to T2.
class Arc {
 public:
  struct Params {};
  explicit Arc(const Room& room, const Params& /*params*/ = {})
      : capacity_(room.capacity), links_(room.ids), state_(room.ids, kAbsent) {}
  void grow(Id ids) {
    links_.grow(ids);
    if (state_.size() < ids) state_.resize(ids, kAbsent);
  }
  [[nodiscard]] bool resident(Id id) const { return state_[id] <= kT2; }
  [[nodiscard]] std::int64_t size() const { return sizes_[kT1] + sizes_[kT2]; }
  void touch(const Use& use) {
    --sizes_[state_[use.id]];
    ++sizes_[kT2];
    state_[use.id] = kT2;
    links_.renew(kT2, use.id);
  }
  void unpin(const Use& use) { links_.renew(state_[use.id], use.id); }
  void insert(const Use& use) {
    recall(use.id);
    put(state_[use.id] == kAbsent ? kT1 : kT2, use.id);
    // Only for a pool where evict did not make room; otherwise the limit is never exceeded.
    if (sizes_[kT1] + sizes_[kB1] > capacity_) forget(kB1);
    if (size() + sizes_[kB1] + sizes_[kB2] > 2 * capacity_) forget(kB2);
  }
  template <class May>
  Id evict(const Use& incoming, const May& may) {
    bool once = true;  // true: the block is in neither B1 nor B2
    bool from_b2 = false;
    if (incoming.id != kNoId) {
      recall(incoming.id);
      once = state_[incoming.id] == kAbsent;
      from_b2 = state_[incoming.id] == kRecalledB2;
    }
    if (once) {
      if (sizes_[kT1] + sizes_[kB1] >= capacity_) {
        if (sizes_[kB1] == 0) {  // T1 has all blocks: its oldest is evicted and not remembered
          const Id victim = links_.first(kT1, may);
          if (victim != kNoId) {
            erase(victim);
            return victim;
          }
        }
        forget(kB1);
      } else if (size() + sizes_[kB1] + sizes_[kB2] >= 2 * capacity_) {
        forget(kB2);
      }
    }
    const auto t1 = static_cast<double>(sizes_[kT1]);
    const std::uint8_t list = sizes_[kT1] > 0 && (t1 > target_ || (from_b2 && t1 == target_)) ? kT1 : kT2;
    Id victim = links_.first(list, may);
    if (victim == kNoId) victim = links_.first(list == kT1 ? kT2 : kT1, may);
    if (victim == kNoId) return kNoId;
    const std::uint8_t history = state_[victim] == kT1 ? kB1 : kB2;
    erase(victim);
    put(history, victim);
    return victim;
  }
  void erase(Id id) {
    links_.remove(id);
    --sizes_[state_[id]];
    state_[id] = kAbsent;
  }
  void may_go(Id id) { links_.may_go(id); }

 private:
  // The lists; in no list; in no list, but in B1 or B2 when it was referenced.
  static constexpr std::uint8_t kT1 = 0, kT2 = 1, kB1 = 2, kB2 = 3, kAbsent = 4, kRecalledB1 = 5,
                                kRecalledB2 = 6;

  void put(std::uint8_t list, Id id) {
    links_.push(list, id);
    ++sizes_[list];
    state_[id] = list;
  }
  void forget(std::uint8_t history) {
    if (sizes_[history] > 0) erase(links_.oldest(history));
  }
  void recall(Id id) {
    const auto b1 = static_cast<double>(sizes_[kB1]);
    const auto b2 = static_cast<double>(sizes_[kB2]);
    if (state_[id] == kB1) {
      target_ = std::min(target_ + std::max(1.0, b2 / b1), static_cast<double>(capacity_));
      erase(id);
      state_[id] = kRecalledB1;
    } else if (state_[id] == kB2) {
      target_ = std::max(target_ - std::max(1.0, b1 / b2), 0.0);
      erase(id);
      state_[id] = kRecalledB2;
    }
  }

  std::int64_t capacity_;
  Links<4> links_;
  std::vector<std::uint8_t> state_;
  std::int64_t sizes_[4]{};
  double target_{0};  // target size of T1; p of the paper
};

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember =
    member<Arc>({.family = "replacement",
                 .name = "arc",
                 .summary = "Two LRU lists, one for blocks used once and one for blocks used again; their "
                            "sizes adapt to the hits in each list's history.",
                 .source = "Megiddo, Modha 2003 (FAST), real-valued target",
                 .params = kLeavesAlone});

}  // namespace kvplan::replacement::arc
