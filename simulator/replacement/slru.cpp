// SLRU: blocks used once are on probation, blocks used again are protected. Protected blocks beyond their share
// return to probation as its youngest; the least recent block on probation is evicted.
#include <array>
#include <vector>

#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::slru {
namespace {

class Slru {
 public:
  struct Params {
    std::int64_t protected_blocks{0};
  };
  Slru(const Room& room, const Params& params)
      : params_(params), links_(room.ids), state_(room.ids, kAbsent) {}
  void grow(Id ids) {
    links_.grow(ids);
    if (state_.size() < ids) state_.resize(ids, kAbsent);
  }
  [[nodiscard]] bool resident(Id id) const { return state_[id] != kAbsent; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) {
    if (state_[use.id] == kOnProbation) {
      state_[use.id] = kProtected;
      ++protected_;
    }
    links_.renew(kProtected, use.id);
    while (protected_ > params_.protected_blocks) {
      const Id oldest = links_.oldest(kProtected);
      links_.renew(kOnProbation, oldest);
      state_[oldest] = kOnProbation;
      --protected_;
    }
  }
  void unpin(const Use& use) { links_.renew(state_[use.id], use.id); }
  void insert(const Use& use) {
    links_.push(kOnProbation, use.id);
    state_[use.id] = kOnProbation;
    ++size_;
  }
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    Id victim = links_.first(kOnProbation, may);
    if (victim == kNoId) victim = links_.first(kProtected, may);
    if (victim != kNoId) erase(victim);
    return victim;
  }
  void erase(Id id) {
    if (state_[id] == kProtected) --protected_;
    links_.remove(id);
    state_[id] = kAbsent;
    --size_;
  }
  void may_go(Id id) { links_.may_go(id); }

 private:
  static constexpr std::uint8_t kOnProbation = 0, kProtected = 1, kAbsent = 2;  // lists, and none

  Params params_;
  Links<2> links_;
  std::vector<std::uint8_t> state_;
  std::int64_t size_{0}, protected_{0};
};

constexpr std::array<Param, 2> kParams{{
    {.name = "protected",
     .help = "Share of the cache for the protected segment",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0.8",
     .low = 0,
     .high = 1},
    kLeavesParam,
}};

Result<Slru::Params> params_of(const Choice& choice, const Room& room) {
  KVPLAN_TRY(const std::int64_t most, part_of(choice, "protected", room.capacity));
  return Slru::Params{.protected_blocks = most};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = priced(
    -450,
    member<Slru, params_of>({.family = "replacement",
                             .name = "slru",
                             .summary = "Segmented LRU: a block used again moves to a protected segment; the "
                                        "least recently used block outside it is evicted.",
                             .source = "Karedla, Love, Wherry 1994 (IEEE Computer 27(3))",
                             .params = kParams}));

}  // namespace kvplan::replacement::slru
