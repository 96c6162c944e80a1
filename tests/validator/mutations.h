// Changes of an event log, one at a time, each of which changes what the log says.
#pragma once

#include <span>
#include <string>

#include "simulator/base/random.h"
#include "tests/validator/run_log.h"

namespace kvplan::test {

struct Mutation {
  const char* name;
  /// Changes the log at a random place that fits; false where there is none. `what` says what was done.
  bool (*apply)(WholeLog& log, Random& random, std::string& what);
};
std::span<const Mutation> mutations();

}  // namespace kvplan::test
