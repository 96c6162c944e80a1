// The loop that replays references through a policy.
#pragma once

#include <vector>

#include "simulator/base/check.h"
#include "simulator/replacement/leaves.h"
#include "simulator/replacement/policy.h"
#include "simulator/replacement/references.h"

namespace kvplan::replacement {

/// The rule that every block may be evicted.
struct AnyGoes {
  template <class P>
  void make_room(P& policy, const Use& incoming, Id /*before*/) {
    policy.evict(incoming, AllMayGo{});
  }
  void came(const Use& /*use*/, Id /*before*/) {}
  template <class P>
  void expire(P& policy, std::int64_t now_ns) {
    if constexpr (requires { policy.expire(now_ns, AllMayGo{}, [](Id) {}); })
      policy.expire(now_ns, AllMayGo{}, [](Id) {});
  }
};

/// The rule that a block is evicted only after the cached blocks that follow it (leaves.h). The block before the new
/// one also stays, as a running request would hold it, unless no other block can be evicted.
class LeavesGo {
 public:
  template <class P>
  void make_room(P& policy, const Use& incoming, Id before) {
    leaves_.follows(incoming.id, before);
    leaves_.enter(incoming.id);
    Id victim = policy.evict(incoming, May{&leaves_});
    if (const Id alone = leaves_.leave(incoming.id); alone != kNoId) policy.may_go(alone);
    if (victim == kNoId) victim = policy.evict(incoming, May{&leaves_});
    KVPLAN_CHECK(victim != kNoId, policy.size());  // not every block has a cached follower
    went(policy, victim);
  }
  void came(const Use& use, Id before) {
    leaves_.follows(use.id, before);
    leaves_.enter(use.id);
  }
  /// Evicting a block may make the block before it a leaf, which may have expired too.
  template <class P>
  void expire(P& policy, std::int64_t now_ns) {
    if constexpr (requires { policy.expire(now_ns, May{}, [](Id) {}); }) {
      std::vector<Id> gone;
      do {
        gone.clear();
        policy.expire(now_ns, May{&leaves_}, [&](Id id) { gone.push_back(id); });
        for (const Id id : gone) went(policy, id);
      } while (!gone.empty());
    }
  }

 private:
  struct May {
    const Leaves* leaves{nullptr};
    bool operator()(Id id) const { return leaves->is_leaf(id); }
  };
  template <class P>
  void went(P& policy, Id id) {
    if (const Id before = leaves_.leave(id); before != kNoId) policy.may_go(before);
  }

  Leaves leaves_;
};

/// Demand caching: every miss is inserted; if the cache is full, a block is evicted first. Ends early with an error if
/// `stop_asked` returns true (null: never). `rule` decides which blocks may be evicted.
template <class P, class Rule>
Result<Hits> replay(P& policy, Rule rule, const References& refs, std::int64_t capacity,
                    bool (*stop_asked)()) {
  Hits hits;
  Use use;
  for (std::size_t r = 0; r < refs.prompts(); ++r) {
    if (stop_asked != nullptr && r % 1024 == 0 && stop_asked()) return interrupted_error();
    use.time_ns = refs.times_ns[r];
    if (!refs.categories.empty()) use.category = refs.categories[r];
    rule.expire(policy, use.time_ns);
    const Id* const begin = refs.ids.data() + refs.offsets[r];
    const Id* const end = refs.ids.data() + refs.offsets[r + 1];
    const Id* at = begin;
    for (; at != end && policy.resident(*at); ++at) {
      use.id = *at;
      use.depth = static_cast<std::uint32_t>(at - begin);
      policy.touch(use);
    }
    hits.prefix += at - begin;
    hits.object += at - begin;
    for (; at != end; ++at) {
      use.id = *at;
      use.depth = static_cast<std::uint32_t>(at - begin);
      if (policy.resident(*at)) {
        ++hits.object;
        policy.touch(use);
      } else {
        const Id before = at == begin ? kNoId : at[-1];
        if (policy.size() >= capacity) rule.make_room(policy, use, before);
        policy.insert(use);
        rule.came(use, before);
      }
    }
  }
  return hits;
}

}  // namespace kvplan::replacement
