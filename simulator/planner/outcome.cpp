#include "simulator/planner/outcome.h"

#include <algorithm>

#include "simulator/run/summary.h"

namespace kvplan::planner {

CaseOutcome outcome_of(const runs::RunResult& result, const std::vector<Target>& targets) {
  CaseOutcome out;
  out.values = values_of(result, targets);
  out.saturated = runs::is_saturated(result);
  std::vector<std::size_t> late;
  out.met = met_fraction(result, &late);
  out.late = static_cast<std::int64_t>(late.size());
  out.output_tokens_per_s = result.output_tokens_per_s;
  if (result.input_tokens > 0)
    out.prefix_hit_share =
        static_cast<double>(result.prefix_hit_tokens) / static_cast<double>(result.input_tokens);
  out.preemptions = result.preemptions;
  return out;
}

Verdict verdict_of(const CaseOutcome& outcome, const std::vector<Target>& targets) {
  Verdict out;
  if (!outcome.error.empty()) return out;
  out.ran = true;
  out.meets = true;
  for (std::size_t i = 0; i < targets.size(); ++i)
    out.meets = out.meets && holds(targets[i], outcome.values[i]);
  out.overload = outcome.saturated && !out.meets;
  out.tightness = tightness(targets, outcome.values);
  return out;
}

NamedNumbers numbers_of(const CaseOutcome& outcome, const std::vector<Target>& targets) {
  NamedNumbers out;
  for (std::size_t i = 0; i < outcome.values.size(); ++i)
    out.emplace_back(targets[i].name, outcome.values[i]);
  out.emplace_back("saturated", outcome.saturated ? 1 : 0);
  out.emplace_back("met", outcome.met);
  out.emplace_back("late", static_cast<double>(outcome.late));
  out.emplace_back("output_tokens_per_s", outcome.output_tokens_per_s);
  out.emplace_back("prefix_hit_share", outcome.prefix_hit_share);
  out.emplace_back("preemptions", static_cast<double>(outcome.preemptions));
  return out;
}

CaseOutcome outcome_from(const std::string& error, const NamedNumbers& numbers,
                         const std::vector<Target>& targets) {
  CaseOutcome out;
  out.error = error;
  const auto number = [&](std::string_view name) -> std::optional<double> {
    const auto found =
        std::find_if(numbers.begin(), numbers.end(), [&](const auto& each) { return each.first == name; });
    return found == numbers.end() ? std::nullopt : found->second;
  };
  for (const Target& target : targets) out.values.push_back(number(target.name));
  out.saturated = number("saturated").value_or(0) != 0;
  out.met = number("met");
  out.late = static_cast<std::int64_t>(number("late").value_or(0));
  out.output_tokens_per_s = number("output_tokens_per_s");
  out.prefix_hit_share = number("prefix_hit_share");
  out.preemptions = static_cast<std::int64_t>(number("preemptions").value_or(0));
  return out;
}

}  // namespace kvplan::planner
