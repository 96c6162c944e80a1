// The loop that plays references through a policy.
#pragma once

#include "simulator/replacement/policy.h"
#include "simulator/replacement/references.h"

namespace kvplan::replacement {

/// Demand caching: what is not found always comes in; if the cache is full something goes before. Ends early, with an
/// error, where `stop_asked` says so (null: never).
template <class P>
Result<Hits> replay(P& policy, const References& refs, std::int64_t capacity, bool (*stop_asked)()) {
  Hits hits;
  Use use;
  for (std::size_t r = 0; r < refs.prompts(); ++r) {
    if (stop_asked != nullptr && r % 1024 == 0 && stop_asked()) return interrupted_error();
    use.time_ns = refs.times_ns[r];
    if (!refs.categories.empty()) use.category = refs.categories[r];
    if constexpr (requires { policy.expire(use.time_ns, AllMayGo{}, [](Id) {}); })
      policy.expire(use.time_ns, AllMayGo{}, [](Id) {});
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
        if (policy.size() >= capacity) policy.evict(use, AllMayGo{});
        policy.insert(use);
      }
    }
  }
  return hits;
}

}  // namespace kvplan::replacement
