// 2Q, the full version: new blocks go through a FIFO queue (A1in); those that left it are remembered (A1out). A block
// that is referenced while it is remembered goes to an LRU list (Am). A use of a block in A1in changes nothing.
#include <array>
#include <vector>

#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::two_q {
namespace {

/// A remembered block that is referenced leaves the history before a victim is chosen.
class TwoQ {
 public:
  struct Params {
    std::int64_t in_blocks{0};   ///< A1in evicts while it has more blocks than this
    std::int64_t out_blocks{0};  ///< number of blocks that A1out remembers
  };
  TwoQ(const Room& room, const Params& params)
      : params_(params), links_(room.ids), state_(room.ids, kAbsent) {}
  void grow(Id ids) {
    links_.grow(ids);
    if (state_.size() < ids) state_.resize(ids, kAbsent);
  }
  [[nodiscard]] bool resident(Id id) const { return state_[id] <= kMain; }
  [[nodiscard]] std::int64_t size() const { return in_ + main_; }
  void touch(const Use& use) {
    if (state_[use.id] == kMain) links_.renew(kMain, use.id);
  }
  void unpin(const Use& use) { touch(use); }
  void insert(const Use& use) {
    recall(use.id);
    if (state_[use.id] == kRecalled) {
      state_[use.id] = kMain;
      ++main_;
    } else {
      state_[use.id] = kIn;
      ++in_;
    }
    links_.push(state_[use.id], use.id);
  }
  template <class May>
  Id evict(const Use& incoming, const May& may) {
    if (incoming.id != kNoId) recall(incoming.id);
    const std::uint8_t list = in_ > params_.in_blocks ? kIn : kMain;
    Id victim = links_.first(list, may);
    if (victim == kNoId) victim = links_.first(list == kIn ? kMain : kIn, may);
    if (victim == kNoId) return kNoId;
    const bool remembered = state_[victim] == kIn && params_.out_blocks > 0;
    erase(victim);
    if (remembered) remember(victim);
    return victim;
  }
  void erase(Id id) {
    --(state_[id] == kIn ? in_ : main_);
    links_.remove(id);
    state_[id] = kAbsent;
  }
  void may_go(Id id) { links_.may_go(id); }

 private:
  // The lists; in no list; in no list, but remembered when it was referenced.
  static constexpr std::uint8_t kIn = 0, kMain = 1, kOut = 2, kAbsent = 3, kRecalled = 4;

  void recall(Id id) {
    if (state_[id] != kOut) return;
    links_.remove(id);
    --out_;
    state_[id] = kRecalled;
  }
  void remember(Id id) {
    if (out_ == params_.out_blocks) {
      const Id oldest = links_.oldest(kOut);
      links_.remove(oldest);
      state_[oldest] = kAbsent;
      --out_;
    }
    links_.push(kOut, id);
    state_[id] = kOut;
    ++out_;
  }

  Params params_;
  Links<3> links_;
  std::vector<std::uint8_t> state_;
  std::int64_t in_{0}, main_{0}, out_{0};
};

constexpr std::array<Param, 3> kParams{{
    {.name = "in",
     .help = "Share of the cache above which blocks are evicted from the FIFO queue",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0.25",
     .low = 0,
     .high = 1},
    {.name = "out",
     .help = "Size of the ghost queue (blocks evicted from the FIFO queue), as a multiple of the cache",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0.5",
     .low = 0,
     .high = 100},
    kLeavesParam,
}};

Result<TwoQ::Params> params_of(const Choice& choice, const Room& room) {
  KVPLAN_TRY(const std::int64_t in, part_of(choice, "in", room.capacity));
  KVPLAN_TRY(const std::int64_t out, part_of(choice, "out", room.capacity));
  return TwoQ::Params{.in_blocks = in, .out_blocks = out};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember =
    member<TwoQ, params_of>({.family = "replacement",
                             .name = "2q",
                             .summary = "New blocks enter a FIFO queue; a block that is requested again "
                                        "while its history is kept enters an LRU list.",
                             .source = "Johnson, Shasha 1994 (VLDB), full version",
                             .params = kParams});

}  // namespace kvplan::replacement::two_q
