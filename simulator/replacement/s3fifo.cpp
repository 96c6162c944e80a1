// S3-FIFO: a small FIFO queue for new blocks, a main queue with second chances, and a FIFO of ids that left the small
// queue unused. A block that is referenced while its id is remembered goes directly to the main queue.
#include <algorithm>
#include <array>
#include <vector>

#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::s3fifo {
namespace {

/// Uses are counted up to 3. A remembered block that is referenced is forgotten before a victim is chosen. A block of
/// the small queue with enough uses moves to the main queue and its count restarts; the main queue is not trimmed at
/// that moment. A block of the main queue with uses loses one and goes to the young end.
class S3Fifo {
 public:
  struct Params {
    std::int64_t small_blocks{0};  ///< the main queue evicts while it has more than all blocks but these
    std::int64_t ghost_blocks{0};  ///< number of remembered ids
    std::uint32_t promote_uses{2};
    /// Until the first eviction, new blocks go to the main queue once the small queue has its share.
    bool fill_main{false};
  };
  S3Fifo(const Room& room, const Params& params)
      : params_(params), capacity_(room.capacity), links_(room.ids), state_(room.ids, kAbsent) {}
  void grow(Id ids) {
    links_.grow(ids);
    if (state_.size() < ids) state_.resize(ids, kAbsent);
  }
  [[nodiscard]] bool resident(Id id) const { return state_[id] < 2 * kUses; }
  [[nodiscard]] std::int64_t size() const { return small_ + main_; }
  void touch(const Use& use) {
    std::uint8_t& state = state_[use.id];
    if (state % kUses < kUses - 1) ++state;
  }
  void insert(const Use& use) {
    recall(use.id);
    const bool again = state_[use.id] == kRecalled;
    const bool fill = params_.fill_main && !evicted_ && small_ >= params_.small_blocks;
    put(again || fill ? kMain : kSmall, use.id);
  }
  template <class May>
  Id evict(const Use& incoming, const May& may) {
    evicted_ = true;
    if (incoming.id != kNoId) recall(incoming.id);
    const bool main_first = main_ > capacity_ - params_.small_blocks || small_ == 0;
    Id victim = main_first ? kNoId : from_small(may);
    if (victim == kNoId) victim = from_main(may);
    if (victim == kNoId && main_first) {
      victim = from_small(may);
      if (victim == kNoId) victim = from_main(may);  // a block that has just moved there
    }
    return victim;
  }
  void erase(Id id) {
    --(state_[id] < kUses ? small_ : main_);
    links_.remove(id);
    state_[id] = kAbsent;
  }
  void may_go(Id id) { links_.may_go(id); }

 private:
  static constexpr std::uint32_t kSmall = 0, kMain = 1, kGhost = 2;  // lists
  // The state of a block: kUses x list + number of uses; remembered; none; none, but remembered when it was
  // referenced.
  static constexpr std::uint8_t kUses = 4, kRemembered = 8, kAbsent = 9, kRecalled = 10;

  void put(std::uint32_t list, Id id) {
    links_.push(list, id);
    ++(list == kSmall ? small_ : main_);
    state_[id] = static_cast<std::uint8_t>(list * kUses);
  }
  void recall(Id id) {
    if (state_[id] != kRemembered) return;
    links_.remove(id);
    --ghosts_;
    state_[id] = kRecalled;
  }
  void remember(Id id) {
    if (params_.ghost_blocks == 0) return;
    if (ghosts_ == params_.ghost_blocks) {
      const Id oldest = links_.oldest(kGhost);
      links_.remove(oldest);
      state_[oldest] = kAbsent;
      --ghosts_;
    }
    links_.push(kGhost, id);
    state_[id] = kRemembered;
    ++ghosts_;
  }
  template <class May>
  Id from_small(const May& may) {
    for (Id id = links_.first(kSmall, may); id != kNoId; id = links_.first(kSmall, may)) {
      const bool stays = state_[id] >= params_.promote_uses;
      erase(id);
      if (!stays) {
        remember(id);
        return id;
      }
      put(kMain, id);
    }
    return kNoId;
  }
  template <class May>
  Id from_main(const May& may) {
    for (Id id = links_.first(kMain, may); id != kNoId; id = links_.first(kMain, may)) {
      if (state_[id] == kMain * kUses) {
        erase(id);
        return id;
      }
      --state_[id];
      links_.renew(kMain, id);
    }
    return kNoId;
  }

  Params params_;
  std::int64_t capacity_;
  Links<3> links_;
  std::vector<std::uint8_t> state_;
  std::int64_t small_{0}, main_{0}, ghosts_{0};
  bool evicted_{false};
};

constexpr std::array<Param, 5> kParams{{
    {.name = "small",
     .help = "Share of the cache for the small queue",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0.1",
     .low = 0,
     .high = 1},
    {.name = "ghost",
     .help = "Size of the ghost queue, as a multiple of the cache",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0.9",
     .low = 0,
     .high = 100},
    {.name = "promote_uses",
     .help = "Uses in the small queue that move a block to the main queue",
     .kind = ParamKind::kInteger,
     .fallback = "2",
     .low = 1,
     .high = 3},
    {.name = "fill_main",
     .help = "While the cache fills for the first time, insert blocks into the main queue once the small "
             "queue has its share (libCacheSim 0.3.5)",
     .kind = ParamKind::kFlag,
     .fallback = "false"},
    kLeavesParam,
}};

Result<S3Fifo::Params> params_of(const Choice& choice, const Room& room) {
  KVPLAN_TRY(const std::int64_t small, part_of(choice, "small", room.capacity));
  KVPLAN_TRY(const std::int64_t ghost, part_of(choice, "ghost", room.capacity));
  const auto uses = static_cast<std::uint32_t>(choice.integer("promote_uses"));
  return S3Fifo::Params{.small_blocks = small,
                        .ghost_blocks = ghost,
                        .promote_uses = uses,
                        .fill_main = choice.flag("fill_main")};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = priced(
    150,
    member<S3Fifo, params_of>({.family = "replacement",
                               .name = "s3fifo",
                               .summary = "A small FIFO queue for new blocks, a main FIFO queue with second "
                                          "chances, and a ghost queue of blocks evicted from the small one.",
                               .source = "Yang, Zhang, Qiu, Yue, Vinayak 2023 (SOSP)",
                               .params = kParams}));

}  // namespace kvplan::replacement::s3fifo
