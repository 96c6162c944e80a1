// What a plan says, as sentences and tables: the text and the page print the same ones.
#pragma once

#include <string>
#include <vector>

#include "simulator/planner/plan.h"
#include "simulator/report/content.h"

namespace kvplan::planner {

/// "12.0 USD an hour", or "8 GPUs" without prices.
std::string cost_text(const Plan& plan, const Option& option);
/// "meets the targets; 12 of 19,366 requests late".
std::string verdict_text(const Option& option, std::int64_t requests);
/// "19,366 requests on llama-3-70b: TTFT p99 at most 2.00 s".
std::string question_line(const Plan& plan);
/// "Answer at 3 times the trace's rate".
std::string answer_title(const Plan& plan, const RatePlan& rate);

// REQUIRES (these): rate.best.
/// The deployment, its cost.
std::string answer_line(const Plan& plan, const RatePlan& rate);
/// Requests in time, pool, preemptions, hits.
std::string service_line(const Plan& plan, const RatePlan& rate);
report::Table targets_table(const RatePlan& rate);
/// Fewer and more, head-room, what binds, prices of the targets, the day.
std::vector<std::string> around_lines(const Plan& plan, const RatePlan& rate);
/// How much this depends on the recorded traffic, and on resources that are not known exactly.
std::vector<std::string> sure_lines(const RatePlan& rate);
/// Resources with their effects, the largest first; no rows without any.
report::Table sensitivity_table(const RatePlan& rate);
std::vector<std::string> other_device_lines(const Plan& plan, const RatePlan& rate);
std::vector<std::string> formula_lines(const Plan& plan, const RatePlan& rate);

/// What is not known: contradictions, assumptions (some, or all), notes.
std::vector<std::string> doubt_lines(const Plan& plan, bool all);

}  // namespace kvplan::planner
