// TTL: a block lives for a time and is then evicted, whether room is needed or not. If room is needed earlier, the
// block that expires first is evicted.
#include <array>
#include <vector>

#include "simulator/base/units.h"
#include "simulator/replacement/links.h"
#include "simulator/replacement/member.h"

namespace kvplan::replacement::ttl {
namespace {

class Ttl {
 public:
  struct Params {
    std::int64_t life_ns{0};
    bool renew{true};  ///< the time restarts at each use; false: it runs from the insertion of the block
  };
  Ttl(const Room& room, const Params& params) : params_(params), links_(room.ids), since_ns_(room.ids, 0) {}
  void grow(Id ids) {
    links_.grow(ids);
    if (since_ns_.size() < ids) since_ns_.resize(ids, 0);
  }
  [[nodiscard]] bool resident(Id id) const { return links_.linked(id); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  void touch(const Use& use) {
    if (!params_.renew) return;
    since_ns_[use.id] = use.time_ns;
    links_.renew(0, use.id);
  }
  void unpin(const Use& use) {
    touch(use);
    links_.may_go(use.id);
  }
  void insert(const Use& use) {
    since_ns_[use.id] = use.time_ns;
    links_.push(0, use.id);
    ++size_;
  }
  /// A block that was inserted or renewed at t lives in [t, t + life).
  template <class May, class Told>
  void expire(std::int64_t now_ns, const May& may, const Told& told) {
    for (Id id = links_.first(0, may); id != kNoId; id = links_.first(0, may)) {
      if (now_ns - since_ns_[id] < params_.life_ns) return;
      erase(id);
      told(id);
    }
  }
  template <class May>
  Id evict(const Use& /*incoming*/, const May& may) {
    const Id victim = links_.first(0, may);
    if (victim != kNoId) erase(victim);
    return victim;
  }
  void erase(Id id) {
    links_.remove(id);
    --size_;
  }
  void may_go(Id id) { links_.may_go(id); }

 private:
  Params params_;
  Links<1> links_;  // in order of since_ns_, because times never decrease
  std::vector<std::int64_t> since_ns_;
  std::int64_t size_{0};
};

constexpr std::array<Param, 3> kParams{{
    {.name = "life_s",
     .help = "Time to live of a block",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kSeconds,
     .fallback = "300",
     .low = 0,
     .high = 1000000000.0},
    {.name = "renew",
     .help = "Whether each use restarts the time to live",
     .kind = ParamKind::kFlag,
     .fallback = "true"},
    kLeavesParam,
}};

Result<Ttl::Params> params_of(const Choice& choice, const Room& /*room*/) {
  KVPLAN_TRY(const std::int64_t life_ns, part_of(choice, "life_s", kNsPerSecond));
  return Ttl::Params{.life_ns = life_ns, .renew = choice.flag("renew")};
}

}  // namespace

extern const ReplacementEntry kMember;
const ReplacementEntry kMember = priced(
    -400,
    member<Ttl, params_of>({.family = "replacement",
                            .name = "ttl",
                            .summary = "A block expires after its time to live; if room is needed earlier, "
                                       "evicts the block that expires first.",
                            .source = "kvplan, after the working set of Denning 1968 (CACM 11(5))",
                            .params = kParams},
                           true));

}  // namespace kvplan::replacement::ttl
