// The numbers of a report file, converted back to a run: everything that runs::report_json writes except the
// scenario. Writing such a run gives the same file, byte for byte.
#pragma once

#include "simulator/base/result.h"
#include "simulator/run/run_summary.h"

namespace kvplan::v1 {
class Report;
}  // namespace kvplan::v1

namespace kvplan::io {

/// Largest time in a report.
inline constexpr std::int64_t kMostReportedNs = std::int64_t{1} << 52;

/// Errors, with the key: a number that no run can have (not finite, negative where impossible, a time beyond 2^52 ns,
/// a capacity beyond 2^56 bytes), a word that is not in its list.
Status read_numbers(const v1::Report& report, runs::RunSummary& run);

}  // namespace kvplan::io
