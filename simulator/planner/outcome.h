// What a plan keeps of a case that it ran: enough to judge it by any limits, and to go on after an interruption.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/planner/search.h"
#include "simulator/planner/target.h"

namespace kvplan::planner {

struct CaseOutcome {
  std::string error;                ///< why it could not run; empty: it ran
  std::vector<TargetValue> values;  ///< parallel to the targets
  bool saturated{false};            ///< requests arrived faster than they were served
  std::optional<double> met;        ///< target.h, met_fraction
  std::int64_t late{0};             ///< requests that are not in time
  std::optional<double> output_tokens_per_s;
  std::optional<double> prefix_hit_share;  ///< of prompt tokens of completed requests; absent without any
  std::int64_t preemptions{0};
};

CaseOutcome outcome_of(const runs::RunResult& result, const std::vector<Target>& targets);

/// By these targets, which may have other limits than those of the run.
Verdict verdict_of(const CaseOutcome& outcome, const std::vector<Target>& targets);

/// All numbers of an outcome by their names, for a database. An infinite number is a percentile that did not complete.
using NamedNumbers = std::vector<std::pair<std::string, std::optional<double>>>;
NamedNumbers numbers_of(const CaseOutcome& outcome, const std::vector<Target>& targets);
CaseOutcome outcome_from(const std::string& error, const NamedNumbers& numbers,
                         const std::vector<Target>& targets);

}  // namespace kvplan::planner
