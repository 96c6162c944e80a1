// Cases in which requests come faster than they are served: what they wait grows with the trace, so latencies of such a
// case say how long the trace is and not how the engine does. They are counted, and left out of ranked latencies.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/sweep/database.h"

namespace kvplan::sweep {

/// 0 where the database has no such figure.
Result<std::int64_t> saturated_cases(Database& database);

/// A figure of `cases` in SQL: null for a latency of a saturated case, else the column.
std::string steady_column(const Head& head, const FigureColumn& figure);

}  // namespace kvplan::sweep
