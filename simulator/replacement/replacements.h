// The family `replacement`: which cached block is evicted when there is no room. A member is one file NAME.cpp
// with its class (see policy.h), an entry with its descriptor (made by member.h), and one line in
// replacements.cpp.
#pragma once

#include <memory>
#include <span>

#include "simulator/base/case_price.h"
#include "simulator/base/component.h"
#include "simulator/replacement/policy.h"
#include "simulator/replacement/references.h"

namespace kvplan::replacement {

struct ReplacementEntry {
  Descriptor descriptor;
  bool uses_time{false};  ///< true: the arrival times of requests matter
  /// Replays references through an empty cache of `capacity` blocks, at least 1. Errors: an impossible parameter;
  /// interrupted, if `stop_asked` is not null and returns true. Null for the member that stands for a pool's own rule,
  /// since a replay has no pool.
  Result<Hits> (*replay)(const Choice&, const References&, std::int64_t capacity, bool (*stop_asked)());
  /// Makes the policy for a cache or a pool. Null for a member that knows the future, and for a pool's own
  /// rule.
  Result<std::unique_ptr<Policy>> (*make)(const Choice&, const Room&);
  /// The hits of every capacity follow from one pass over the references (stack_curve.h).
  bool one_pass_curve{false};
  bool optimal{false};  ///< knows the future, and no policy has more hits
  CasePrice price{};    ///< additional time of a case with this member
};

std::span<const ReplacementEntry* const> replacements();
Catalogue replacement_descriptors();
/// True: a pool can use the member: it is the pool's own rule, or a policy that does not know the future.
inline bool serves_pools(const ReplacementEntry& entry) {
  return entry.make != nullptr || entry.replay == nullptr;
}
/// REQUIRES: the choice is of family "replacement".
const ReplacementEntry& replacement_entry(const Choice& choice);

}  // namespace kvplan::replacement
