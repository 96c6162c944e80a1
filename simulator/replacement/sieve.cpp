// SIEVE: a FIFO list with a bit for each block, and a hand that moves from the oldest block to the youngest, clears
// set bits, and evicts the first block without one. Blocks never move in the list; the hand stays at the next younger
// block.
#include <vector>

#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::sieve {
namespace {

class Sieve {
 public:
  struct Params {};
  explicit Sieve(const Room& room, const Params& /*params*/ = {}) : links_(room.ids), state_(room.ids, 0) {}
  void grow(Id ids) {
    links_.grow(ids);
    if (state_.size() < ids) state_.resize(ids, kAbsent);
  }
  [[nodiscard]] bool resident(Id id) const { return state_[id] != kAbsent; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) { state_[use.id] = kUsed; }
  void insert(const Use& use) {
    state_[use.id] = kUnused;
    links_.push(0, use.id);
    ++size_;
  }

  /// The hand passes blocks that may not be evicted and leaves their bits. If few blocks of a pool may be evicted it
  /// passes many.
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    Id at = hand_;
    // One round clears every bit that can be cleared, a second round finds a block that may be evicted.
    for (std::int64_t passed = 0; passed <= 2 * size_; ++passed) {
      if (at == kNoId) at = links_.oldest(0);
      if (at == kNoId) break;
      if (may(at)) {
        if (state_[at] == kUnused) {
          hand_ = at;
          erase(at);
          return at;
        }
        state_[at] = kUnused;
      }
      at = links_.younger(at);
    }
    return kNoId;
  }
  void erase(Id id) {
    if (hand_ == id) hand_ = links_.younger(id);
    links_.remove(id);
    state_[id] = kAbsent;
    --size_;
  }
  void may_go(Id /*id*/) {}

 private:
  static constexpr std::uint8_t kAbsent = 0, kUnused = 1, kUsed = 2;

  Links<1> links_;
  std::vector<std::uint8_t> state_;
  Id hand_{kNoId};  // kNoId: the hand is at the oldest block
  std::int64_t size_{0};
};

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = priced(
    -550,
    member<Sieve>({.family = "replacement",
                   .name = "sieve",
                   .summary = "A hand moves from old to new through a FIFO list, skips blocks used since its "
                              "last visit, and evicts the first block that was not.",
                   .source = "Zhang, Yang, Yue, Vigfusson, Vinayak 2024 (NSDI)",
                   .params = kLeavesAlone}));

}  // namespace kvplan::replacement::sieve
