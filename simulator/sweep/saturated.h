// Saturated cases, in which requests arrive faster than they are served: waiting times grow with the trace, so their
// latencies measure the trace and not the engine. They are counted, and left out of rankings, means, fronts and maps
// of latencies; the table of all cases has them.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/sweep/database.h"

namespace kvplan::sweep {

/// 0 if the database does not have this figure.
Result<std::int64_t> saturated_cases(Database& database);

/// SQL for a column of `cases`: null for a latency of a saturated case.
std::string steady_column(const Head& head, const std::string& name);

}  // namespace kvplan::sweep
