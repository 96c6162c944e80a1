// Changes of an event log, one at a time, each of which changes what the log says.
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
  /// Changes the log at a random place that fits; false where there is none. `what` says what was done.
  bool (*apply)(WholeLog& log, Random& random, std::string& what);
};
/// Of any log.
std::span<const Mutation> mutations();
/// Of logs of several replicas.
std::span<const Mutation> fleet_mutations();
/// Each Preempt of a log of one replica names another request that runs, with what that has written; of each such log
/// the index of that record. Only requests that decode, where only these are preempted.
std::vector<std::pair<std::size_t, Record>> other_victims(const WholeLog& log);

}  // namespace kvplan::test
