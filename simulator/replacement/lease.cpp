// Leases: a use of a cached block gives it a lease for some time; a new block has no lease. The block with the earliest
// lease end is evicted, so a block that was used again outlives new blocks until its lease ends.
#include <array>
#include <compare>

#include "simulator/base/units.h"
#include "simulator/replacement/keyed_heap.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::lease {
namespace {

/// Of equal lease ends the least recently used block is evicted. Leased blocks can be evicted: if all are leased, one
/// must be.
class Lease {
 public:
  struct Params {
    std::int64_t lease_ns{0};
  };
  Lease(const Room& room, const Params& params) : params_(params), heap_(room.ids) {}
  void grow(Id ids) { heap_.grow(ids); }
  [[nodiscard]] bool resident(Id id) const { return heap_.holds(id); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) { heap_.update(use.id, {use.time_ns + params_.lease_ns, ++turn_}); }
  void insert(const Use& use) {
    heap_.push(use.id, {use.time_ns, ++turn_});
    ++size_;
  }
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    const Id victim = heap_.first(may);
    if (victim != kNoId) erase(victim);
    return victim;
  }
  void erase(Id id) {
    heap_.remove(id);
    --size_;
  }
  void may_go(Id id) { heap_.may_go(id); }

 private:
  struct Key {
    std::int64_t end_ns;
    std::uint64_t turn;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  Params params_;
  KeyedHeap<Key> heap_;
  std::uint64_t turn_{0};
  std::int64_t size_{0};
};

constexpr std::array<Param, 2> kParams{{
    {.name = "lease_s",
     .help = "Lease time",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kSeconds,
     .fallback = "60",
     .low = 0,
     .high = 1000000000.0},
    kLeavesParam,
}};

Result<Lease::Params> params_of(const Choice& choice, const Room& /*room*/) {
  KVPLAN_TRY(const std::int64_t lease_ns, part_of(choice, "lease_s", kNsPerSecond));
  return Lease::Params{.lease_ns = lease_ns};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = member<Lease, params_of>(
    {.family = "replacement",
     .name = "lease",
     .summary = "Each use gives a block a lease. The block with the earliest end of its lease is evicted.",
     .source = "kvplan",
     .params = kParams},
    true);

}  // namespace kvplan::replacement::lease
