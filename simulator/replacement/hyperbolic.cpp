// Hyperbolic caching: priority = uses / time, both since insertion. Priorities fall at different speeds, so no fixed
// order exists; instead some blocks are drawn at random, and the least of them is evicted.
#include <array>
#include <map>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/base/units.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::hyperbolic {
namespace {

/// Time is counted in uses of all blocks; the use with which a block is inserted counts as a use and as time. Blocks
/// are drawn without repetition. So if no more blocks may be evicted than the sample has, the choice is exact and the
/// draws do not matter. Of blocks with equal priority the one inserted first is evicted.
///
/// Blocks are in an array from which positions are drawn, so the positions of blocks are part of the meaning of a seed.
/// A new block goes to the end, the last block fills a gap, and a drawn block changes places with the first of those
/// not drawn yet. A block that may not be evicted leaves the array when it is drawn. At the first eviction at which it
/// may be evicted it is at the end again, earlier inserted blocks first; so it does not matter when exactly may_go was
/// called.
class Hyperbolic {
 public:
  struct Params {
    std::uint64_t sample{64};
    std::uint64_t seed{0};
  };
  Hyperbolic(const Room& room, const Params& params)
      : sample_(params.sample), nodes_(room.ids), random_(params.seed, "replacement hyperbolic") {}
  void grow(Id ids) {
    if (nodes_.size() < ids) nodes_.resize(ids);
  }
  [[nodiscard]] bool resident(Id id) const { return nodes_[id].place != kAbsent; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) {
    ++now_;
    ++nodes_[use.id].uses;
  }
  void insert(const Use& use) {
    Node& node = nodes_[use.id];
    node.came = now_++;
    node.uses = 1;
    push(use.id);
    ++size_;
  }
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    for (const auto& [came, id] : back_)
      if (may(id)) push(id);
    back_.clear();
    Id victim = kNoId;
    for (std::size_t drawn = 0; drawn < sample_ && drawn < row_.size();) {
      const std::size_t place = drawn + random_.below(row_.size() - drawn);
      const Id id = row_[place];
      if (!may(id)) {
        leave_row(id);
        nodes_[id].place = kAside;
        continue;
      }
      put(place, row_[drawn]);
      put(drawn, id);
      ++drawn;
      if (victim == kNoId || goes_before(nodes_[id], nodes_[victim])) victim = id;
    }
    if (victim != kNoId) erase(victim);
    return victim;
  }
  void erase(Id id) {
    Node& node = nodes_[id];
    if (node.place == kAside) {
      back_.erase(node.came);
    } else {
      leave_row(id);
    }
    node.place = kAbsent;
    --size_;
  }
  void may_go(Id id) {
    const Node& node = nodes_[id];
    if (node.place == kAside) back_.emplace(node.came, id);
  }

 private:
  // Marks in `place`.
  static constexpr std::uint32_t kAbsent = UINT32_MAX;
  static constexpr std::uint32_t kAside = UINT32_MAX - 1;  // set aside, not in the row

  struct Node {
    std::int64_t came{0};  // uses of all blocks before its insertion
    std::uint32_t uses{0};
    std::uint32_t place{kAbsent};  // position in the row
  };

  /// Priorities are compared as fractions, exactly.
  [[nodiscard]] bool goes_before(const Node& a, const Node& b) const {
    const Wide a_scaled = Wide{a.uses} * (now_ - b.came), b_scaled = Wide{b.uses} * (now_ - a.came);
    return a_scaled != b_scaled ? a_scaled < b_scaled : a.came < b.came;
  }
  void put(std::size_t place, Id id) {
    row_[place] = id;
    nodes_[id].place = static_cast<std::uint32_t>(place);
  }
  void push(Id id) {
    row_.push_back(id);
    put(row_.size() - 1, id);
  }
  /// The caller sets its own position.
  void leave_row(Id id) {
    put(nodes_[id].place, row_.back());
    row_.pop_back();
  }

  std::uint64_t sample_;
  std::vector<Node> nodes_;
  std::vector<Id> row_;
  // blocks set aside, by time of insertion; they may be evicted if may_go was called for them
  std::map<std::int64_t, Id> back_;
  Random random_;
  std::int64_t now_{0};
  std::int64_t size_{0};
};

constexpr std::array<Param, 3> kParams{{
    {.name = "sample",
     .help = "Number of random candidates for eviction",
     .kind = ParamKind::kInteger,
     .unit = Unit::kBlocks,
     .fallback = "64",
     .low = 1,
     .high = 1'000'000},
    {.name = "seed",
     .help = "Seed of the random draws",
     .kind = ParamKind::kInteger,
     .fallback = "0",
     .low = 0,
     .high = 9007199254740992},
    kLeavesParam,
}};

Result<Hyperbolic::Params> params_of(const Choice& choice, const Room& /*room*/) {
  return Hyperbolic::Params{.sample = static_cast<std::uint64_t>(choice.integer("sample")),
                            .seed = static_cast<std::uint64_t>(choice.integer("seed"))};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = member<Hyperbolic, params_of>(
    {.family = "replacement",
     .name = "hyperbolic",
     .summary = "Draws random candidates and evicts the one with the fewest uses per time in the cache.",
     .source = "Blankstein, Sen, Freedman 2017 (USENIX ATC), for one size and one cost",
     .params = kParams});

}  // namespace kvplan::replacement::hyperbolic
