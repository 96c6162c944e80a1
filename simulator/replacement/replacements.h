// The family `replacement`: which cached block goes when there is no room. A member is one file NAME.cpp with its class
// (policy.h says what that has), an entry with its descriptor (member.h makes it), and one line in replacements.cpp.
#pragma once

#include <memory>
#include <span>

#include "simulator/base/component.h"
#include "simulator/replacement/policy.h"
#include "simulator/replacement/references.h"

namespace kvplan::replacement {

struct ReplacementEntry {
  Descriptor descriptor;
  bool uses_time{false};  ///< when a request came makes a difference
  /// Plays references through an empty cache of `capacity` blocks, at least 1. Errors: a parameter that cannot be;
  /// interrupted, where `stop_asked` is not null and says so. Null for a pool's own way, which means nothing here.
  Result<Hits> (*replay)(const Choice&, const References&, std::int64_t capacity, bool (*stop_asked)());
  /// The policy of a cache, or of a pool. Null for a member that has to know the future, and for a pool's own way.
  Result<std::unique_ptr<Policy>> (*make)(const Choice&, const Room&);
};

std::span<const ReplacementEntry* const> replacements();
Catalogue replacement_descriptors();
/// How a pool may be asked to choose: its own way, or a policy that need not know the future.
inline bool serves_pools(const ReplacementEntry& entry) {
  return entry.make != nullptr || entry.replay == nullptr;
}
/// REQUIRES: the choice is of family "replacement".
const ReplacementEntry& replacement_entry(const Choice& choice);

}  // namespace kvplan::replacement
