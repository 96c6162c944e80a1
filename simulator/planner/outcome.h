// What a plan keeps of a case that it ran: enough to judge it by any limits, and to continue after an interruption.
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
  std::string error;                ///< why the case could not run; empty: it ran
  std::vector<TargetValue> values;  ///< parallel to the targets
  bool saturated{false};            ///< requests arrived faster than they were served
  std::optional<double> met;        ///< see met_fraction in target.h
  std::int64_t late{0};             ///< requests that missed a limit
  std::optional<double> output_tokens_per_s;
  std::optional<double> prefix_hit_share;  ///< of prompt tokens of completed requests; absent without any
  std::int64_t preemptions{0};
};

CaseOutcome outcome_of(const runs::RunResult& result, const std::vector<Target>& targets);

/// Judges the outcome by these targets, which may have other limits than those of the run.
Verdict verdict_of(const CaseOutcome& outcome, const std::vector<Target>& targets);

/// All numbers of an outcome by name, for a database. An infinite number is a percentile of an incomplete request.
using NamedNumbers = std::vector<std::pair<std::string, std::optional<double>>>;
NamedNumbers numbers_of(const CaseOutcome& outcome, const std::vector<Target>& targets);
CaseOutcome outcome_from(const std::string& error, const NamedNumbers& numbers,
                         const std::vector<Target>& targets);

}  // namespace kvplan::planner
