// Cases in which requests come faster than they are served: what they wait grows with the trace, so latencies of such a
// case say how long the trace is and not how the engine does. They are counted, and left out of rankings, means, fronts
// and maps of latencies; the table of all cases has them.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/sweep/database.h"

namespace kvplan::sweep {

/// 0 where the database has no such figure.
Result<std::int64_t> saturated_cases(Database& database);

/// A column of `cases` in SQL: null for a latency of a saturated case.
std::string steady_column(const Head& head, const std::string& name);

}  // namespace kvplan::sweep
