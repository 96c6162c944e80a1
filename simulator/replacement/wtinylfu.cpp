// W-TinyLFU: new blocks pass through a small LRU window; a block that leaves it enters the main part, an SLRU, only
// if it was used more often lately than the block that would be evicted there.
#include <algorithm>
#include <array>
#include <vector>

#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"
#include "simulator/replacement/use_sketch.h"

namespace kvplan::replacement::wtinylfu {
namespace {

/// Every use is counted in a sketch. If the window has room for a new block, the main part evicts one of its blocks.
/// Otherwise the oldest block of the window is evicted, unless it was used more often than the main part's victim; then
/// it replaces that victim, as the youngest block on probation.
class WTinyLfu {
 public:
  struct Params {
    std::int64_t window_blocks{1};     ///< at least 1
    std::int64_t protected_blocks{0};  ///< blocks of the main part
  };
  WTinyLfu(const Room& room, const Params& params)
      : params_(params), links_(room.ids), list_(room.ids, kAbsent), sketch_(room) {}
  void grow(Id ids) {
    links_.grow(ids);
    if (list_.size() < ids) list_.resize(ids, kAbsent);
  }
  [[nodiscard]] bool resident(Id id) const { return list_[id] != kAbsent; }
  [[nodiscard]] std::int64_t size() const {
    return sizes_[kWindow] + sizes_[kOnProbation] + sizes_[kProtected];
  }
  void touch(const Use& use) {
    sketch_.add(use.id);
    if (list_[use.id] == kWindow) {
      links_.renew(kWindow, use.id);
      return;
    }
    move(kProtected, use.id);
    while (sizes_[kProtected] > params_.protected_blocks) move(kOnProbation, links_.oldest(kProtected));
  }
  void unpin(const Use& use) { links_.renew(list_[use.id], use.id); }
  void insert(const Use& use) {
    sketch_.add(use.id);
    links_.push(kWindow, use.id);
    list_[use.id] = kWindow;
    ++sizes_[kWindow];
    while (sizes_[kWindow] > params_.window_blocks) move(kOnProbation, links_.oldest(kWindow));
  }
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    const Id candidate = links_.first(kWindow, may);
    Id victim = links_.first(kOnProbation, may);
    if (victim == kNoId) victim = links_.first(kProtected, may);
    if (victim == kNoId) {
      victim = candidate;
    } else if (candidate != kNoId && sizes_[kWindow] >= params_.window_blocks) {
      if (sketch_.estimate(candidate) > sketch_.estimate(victim)) {
        move(kOnProbation, candidate);
      } else {
        victim = candidate;
      }
    }
    if (victim != kNoId) erase(victim);
    return victim;
  }
  void erase(Id id) {
    links_.remove(id);
    --sizes_[list_[id]];
    list_[id] = kAbsent;
  }
  void may_go(Id id) { links_.may_go(id); }

 private:
  static constexpr std::uint8_t kWindow = 0, kOnProbation = 1, kProtected = 2, kAbsent = 3;

  void move(std::uint8_t list, Id id) {
    --sizes_[list_[id]];
    ++sizes_[list];
    list_[id] = list;
    links_.renew(list, id);
  }

  Params params_;
  Links<3> links_;
  std::vector<std::uint8_t> list_;
  std::int64_t sizes_[3]{};
  UseSketch sketch_;
};

constexpr std::array<Param, 3> kParams{{
    {.name = "window",
     .help = "Share of the cache for the window, at least one block",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0.01",
     .low = 0,
     .high = 1},
    {.name = "protected",
     .help = "Share of the main region for protected blocks",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0.8",
     .low = 0,
     .high = 1},
    kLeavesParam,
}};

Result<WTinyLfu::Params> params_of(const Choice& choice, const Room& room) {
  KVPLAN_TRY(const std::int64_t part, part_of(choice, "window", room.capacity));
  const std::int64_t window = std::max<std::int64_t>(1, part);
  KVPLAN_TRY(const std::int64_t most, part_of(choice, "protected", room.capacity - window));
  return WTinyLfu::Params{.window_blocks = window, .protected_blocks = most};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = member<WTinyLfu, params_of>(
    {.family = "replacement",
     .name = "wtinylfu",
     .summary = "New blocks enter a small LRU window. A block that leaves the window enters the main region "
                "only if it was used more often recently than the block that it would replace.",
     .source = "Einziger, Friedman, Manes 2017 (ACM Transactions on Storage 13(4))",
     .params = kParams});

}  // namespace kvplan::replacement::wtinylfu
