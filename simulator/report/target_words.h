// What targets ask for and what a run came to, in words; the same in tables and sentences.
#pragma once

#include <string>
#include <string_view>

#include "simulator/run/run.h"

namespace kvplan::report {

/// "ttft.p99" as "TTFT p99".
std::string percentile_name(std::string_view name);
/// "1.50 s"; "of a request that did not complete", "of no request" where there is none.
std::string have_text(const plan::PercentileOutcome& outcome);
/// What has to hold: "at least 99 % of the requests meet all targets", "TTFT p99 is at most 2.00 s", with ", " between.
/// Of a run without percentiles the first, whatever targets it has.
std::string targets_text(const plan::RunSummary& result);
/// What was: "99.50 % of the requests meet all targets, TTFT p99 is 1.50 s". REQUIRES: slo_met is there.
std::string came_to_text(const plan::RunSummary& result);

}  // namespace kvplan::report
