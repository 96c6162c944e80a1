// Targets and results in words; the same in tables and sentences.
#pragma once

#include <string>
#include <string_view>

#include "simulator/run/run.h"

namespace kvplan::report {

/// "ttft.p99" as "TTFT p99".
std::string percentile_name(std::string_view name);
/// "1.50 s"; "of a request that did not complete", or "of no request" if there is none.
std::string have_text(const runs::PercentileOutcome& outcome);
/// The targets: "at least 99 % of the requests meet all targets", "TTFT p99 is at most 2.00 s", separated by ", ".
/// The first of these always appears in a run without percentiles.
std::string targets_text(const runs::RunSummary& result);
/// The outcome: "99.50 % of the requests meet all targets, TTFT p99 is 1.50 s". REQUIRES: slo_met is set.
std::string came_to_text(const runs::RunSummary& result);

}  // namespace kvplan::report
