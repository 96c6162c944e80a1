// The numbers of a report file, back in the run that they tell of: everything that plan::report_json writes but the
// scenario. What is written of such a run is the file again, byte for byte.
#pragma once

#include "simulator/base/result.h"
#include "simulator/run/run_summary.h"

namespace kvplan::v1 {
class Report;
}  // namespace kvplan::v1

namespace kvplan::io {

/// Times of a run: at most so much.
inline constexpr std::int64_t kMostReportedNs = std::int64_t{1} << 52;

/// Errors, with the key: a number that no run can have (none that is not finite or negative where none can be, no time
/// beyond 2^52 ns, no capacity beyond 2^56 bytes), a word that is none of its list.
Status read_numbers(const v1::Report& report, plan::RunSummary& run);

}  // namespace kvplan::io
