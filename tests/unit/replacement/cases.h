// Random references and choices for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/replacement/replacements.h"
#include "traces/record/trace.h"

namespace kvplan::replacement::testing {

/// The number of cases of a property test: `few`, or KVPLAN_RANDOM_CASES.
std::int64_t cases(std::int64_t few);

/// The member with this name and parameters; a failed check if there is none.
Choice choice_of(const std::string& text);
/// A member with parameters drawn from a few values each.
Choice random_choice(const ReplacementEntry& entry, Random& random);

/// Prompts, each a list of ids, one after the other in time.
struct Prompts {
  std::vector<std::vector<Id>> ids;
  std::vector<std::int64_t> arrival_ns;
  std::vector<std::int32_t> tenant;  // empty: no tenants
};
/// Ids are made dense in order of first appearance.
traces::Trace trace_of(const Prompts& prompts);
/// Paths from the root of random trees, so that equal ids are preceded by equal ids; with three tenants.
Prompts random_prompts(Random& random);

/// Hits with this capacity; a failed check if the replay fails.
Hits hits_of(const std::string& choice, const traces::Trace& trace, std::int64_t capacity);

}  // namespace kvplan::replacement::testing
