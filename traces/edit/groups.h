// Groups of requests that must stay together.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "traces/record/trace.h"

namespace kvplan::traces {

/// The rows of each session, of each group of requests without a session that wait for each other, and of each single
/// request, in the order of the file. Errors: a cycle of waits.
Result<std::vector<std::vector<std::int64_t>>> groups_of(const Trace& trace);

}  // namespace kvplan::traces
