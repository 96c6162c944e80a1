// Requests that belong together.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "traces/record/trace.h"

namespace kvplan::traces {

/// The rows of each session, of each group of requests without one that wait for each other, and each other request
/// by itself, in the order of the file. Errors: waits in a circle.
Result<std::vector<std::vector<std::int64_t>>> groups_of(const Trace& trace);

}  // namespace kvplan::traces
