// Changes to an event log; each one alone changes the meaning of the log.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulator/base/random.h"
#include "tests/validator/run_log.h"

namespace kvplan::test {

using event_log::Record;

struct Mutation {
  const char* name;
  /// Changes the log at a random suitable place; false if there is none. `what`: description of the change.
  bool (*apply)(WholeLog& log, Random& random, std::string& what);
};
/// For any log.
std::span<const Mutation> mutations();
/// For logs of several replicas.
std::span<const Mutation> fleet_mutations();
/// Logs of one replica in which one Preempt names another running request, with the tokens that it has written; for
/// each such log the index of that record. If only decoding requests are preempted, only those are named.
std::vector<std::pair<std::size_t, Record>> other_victims(const WholeLog& log);

}  // namespace kvplan::test
