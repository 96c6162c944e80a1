#include "simulator/planner/plan_sentences.h"

#include <algorithm>

#include "simulator/report/number_text.h"

namespace kvplan::planner {
namespace {

using report::grouped;
using report::percent;
using report::rounded;
using report::seconds_text;

std::string value_of(const TargetOutcome& each) {
  return each.value ? each.target.value_text(*each.value) : std::string("no such request");
}

/// "12 % left" or "missed".
std::string margin_of(const TargetOutcome& each) {
  if (!each.holds) return "missed";
  if (!each.margin) return "holds";
  return report::fixed(*each.margin * 100, 0) + " % left";
}

/// "all 19,366 requests in time" or "12 of 19,366 requests are late".
std::string late_text(const Option& option, std::int64_t requests) {
  if (option.late == 0) return "all requests in time";
  return grouped(option.late) + " of " + grouped(requests) + " requests late";
}

/// The fewer-GPUs line.
std::string fewer_line(const Plan& plan, const Option& fewer) {
  std::string text =
      "fewer: " + fewer.name() + ", " + cost_text(plan, fewer) + ": " + verdict_text(fewer, plan.requests);
  if (fewer.late_from_s)
    text +=
        " (arrived from " + seconds_text(*fewer.late_from_s) + " to " + seconds_text(*fewer.late_to_s) + ")";
  return text;
}

std::string binding_line(const std::vector<Binding>& binding) {
  constexpr std::size_t kShown = 4;
  std::string text = "what binds (with 10 % more of a resource, the tightest target falls by): ";
  for (std::size_t i = 0; i < binding.size() && i < kShown; ++i)
    text += (i == 0 ? "" : ", ") + binding[i].what + " " + report::fixed(binding[i].gain * 100, 1) + " %";
  if (binding.front().when_s)
    text += "; most of the slow requests arrive around " + seconds_text(*binding.front().when_s);
  return text;
}

/// "87 %".
std::string percent_of(double share) {
  return report::fixed(share * 100, 0) + " %";
}

std::string constraint_line(const Plan& plan, const ConstraintPrice& each) {
  const std::string loosened =
      "10 % looser: " + each.target.name + " at " + each.relaxed.value_text(each.relaxed.limit) + " saves ";
  if (each.saves_per_hour <= 0 && each.saves_gpus <= 0) return loosened + "nothing";
  if (plan.currency.empty()) return loosened + grouped(each.saves_gpus) + " GPUs (" + each.with + ")";
  return loosened + rounded(each.saves_per_hour) + " " + plan.currency + " an hour (" + each.with + ")";
}

}  // namespace

std::string verdict_text(const Option& option, std::int64_t requests) {
  std::string out = option.meets ? "meets the targets" : option.overloaded ? "overloaded" : "misses";
  if (!option.meets && !option.overloaded) {
    const char* separator = " ";
    for (const TargetOutcome& each : option.targets) {
      if (each.holds) continue;
      out += separator + each.target.name + " (" + value_of(each) + ")";
      separator = ", ";
    }
  }
  return out + "; " + late_text(option, requests);
}

std::string cost_text(const Plan& plan, const Option& option) {
  if (!option.cost_per_hour) return std::to_string(option.gpus) + (option.gpus == 1 ? " GPU" : " GPUs");
  return rounded(*option.cost_per_hour) + " " + plan.currency + " an hour";
}

std::string question_line(const Plan& plan) {
  std::string targets;
  for (const Target& target : plan.targets) targets += (targets.empty() ? "" : ", ") + target.text();
  return grouped(plan.requests) + " requests on " + plan.model + ": " + targets;
}

std::string answer_title(const Plan& plan, const RatePlan& rate) {
  return plan.rates.size() == 1 && rate.rate == "1" ? "Answer"
                                                    : "Answer at " + rate.rate + " times the trace's rate";
}

std::string answer_line(const Plan& plan, const RatePlan& rate) {
  const Option& best = *rate.best;
  std::string text = best.name() + ", " + cost_text(plan, best);
  if (best.nodes) text += " (" + grouped(*best.nodes) + (*best.nodes == 1 ? " node)" : " nodes)");
  if (best.cost_per_million_output_tokens)
    text += ", " + rounded(*best.cost_per_million_output_tokens) + " " + plan.currency +
            " per million output tokens";
  return text;
}

std::string service_line(const Plan& plan, const RatePlan& rate) {
  const Option& best = *rate.best;
  std::string met = late_text(best, plan.requests);
  if (best.met) met += " (" + percent(*best.met) + " in time)";
  met += "; pool of " + grouped(best.pool_tokens) + " tokens a replica";
  if (best.pool_low_tokens && best.pool_high_tokens)
    met += " (" + grouped(*best.pool_low_tokens) + " to " + grouped(*best.pool_high_tokens) + ")";
  if (best.preemptions > 0) met += "; " + grouped(best.preemptions) + " preemptions";
  if (best.prefix_hit_share && *best.prefix_hit_share > 0)
    met += "; " + percent(*best.prefix_hit_share) + " of prompt tokens are prefix hits";
  return met;
}

report::Table targets_table(const RatePlan& rate) {
  report::Table targets{"Targets", {"is", "limit", "margin"}, {}};
  for (const TargetOutcome& each : rate.best->targets)
    targets.rows.push_back(
        {each.target.name, {value_of(each), each.target.value_text(each.target.limit), margin_of(each)}});
  return targets;
}

std::vector<std::string> around_lines(const Plan& plan, const RatePlan& rate) {
  std::vector<std::string> out;
  if (rate.fewer) {
    out.push_back(fewer_line(plan, *rate.fewer));
  } else if (!rate.fewer_note.empty()) {
    out.push_back("fewer: " + rate.fewer_note);
  }
  if (rate.more)
    out.push_back("more: " + rate.more->name() + ", " + cost_text(plan, *rate.more) + ": " +
                  verdict_text(*rate.more, plan.requests));
  if (rate.headroom)
    out.push_back(std::string("head-room: holds up to ") + (rate.headroom->at_least ? "at least " : "") +
                  report::fixed(rate.headroom->rate_scale, 2) + " times this rate");
  if (!rate.binding.empty()) out.push_back(binding_line(rate.binding));
  for (const ConstraintPrice& each : rate.constraint_prices) out.push_back(constraint_line(plan, each));
  if (rate.day_gpu_hours && rate.fixed_gpu_hours) {
    const auto [least, most] = std::minmax_element(
        rate.day.begin(), rate.day.end(), [](const DayPart& a, const DayPart& b) { return a.gpus < b.gpus; });
    const std::string needed = least->gpus < most->gpus
                                   ? grouped(least->gpus) + " to " + grouped(most->gpus) + " GPUs are needed"
                               : most->gpus == 1 ? std::string("1 GPU is needed all the time")
                                                 : grouped(most->gpus) + " GPUs are needed all the time";
    out.push_back("over the trace: " + needed + ", " + rounded(*rate.day_gpu_hours) +
                  " GPU hours with a perfect autoscaler (start-up " + seconds_text(plan.start_up_s) +
                  ") against " + rounded(*rate.fixed_gpu_hours));
  }
  return out;
}

std::vector<std::string> sure_lines(const RatePlan& rate) {
  std::vector<std::string> out;
  if (rate.traffic) {
    const TrafficDoubt& doubt = *rate.traffic;
    std::string text = "this traffic: the answer meets the targets in " + percent_of(doubt.answer_meets) +
                       " of " + grouped(doubt.resamples) + " resamples";
    if (doubt.fewer_meets) text += ", fewer GPUs in " + percent_of(*doubt.fewer_meets);
    if (doubt.more_meets) text += ", more GPUs in " + percent_of(*doubt.more_meets);
    out.push_back(std::move(text));
    text = "90 % of the resamples lie between:";
    for (std::size_t i = 0; i < doubt.targets.size(); ++i) {
      if (!doubt.targets[i]) continue;
      const Target& target = rate.best->targets[i].target;
      text += (text.ends_with(':') ? " " : ", ") + target.name + " " +
              target.value_text(doubt.targets[i]->low) + " and " + target.value_text(doubt.targets[i]->high);
    }
    if (!text.ends_with(':')) out.push_back(std::move(text));
  }
  if (rate.sensitivity.empty()) return out;
  std::string less, more;
  for (const Sensitivity& each : rate.sensitivity) {
    if (each.less_flips) less += (less.empty() ? "" : ", ") + each.what;
    if (each.more_flips) more += (more.empty() ? "" : ", ") + each.what;
  }
  std::string text = "pool and step times: ";
  text += less.empty() ? "the answer stands with 10 % less of any one resource"
                       : "the answer misses its targets with 10 % less " + less;
  if (!more.empty()) text += "; fewer GPUs meet them with 10 % more " + more;
  out.push_back(std::move(text));
  return out;
}

report::Table sensitivity_table(const RatePlan& rate) {
  report::Table table{
      "What the answer rests on", {"less", "now", "more", "with less", "with more"}, {}, false};
  for (const Sensitivity& each : rate.sensitivity)
    table.rows.push_back({each.what + " (" + each.change + ")",
                          {percent_of(each.less), percent_of(rate.tightest), percent_of(each.more),
                           each.less_flips ? "misses the targets" : "holds",
                           each.more_flips ? "fewer GPUs meet them" : "holds"}});
  return table;
}

std::vector<std::string> other_device_lines(const Plan& plan, const RatePlan& rate) {
  std::vector<std::string> out;
  for (const Option& each : rate.runners_up)
    out.push_back(each.name() + ", " + cost_text(plan, each) + ": " + verdict_text(each, plan.requests));
  for (const Unmet& each : rate.unmet) out.push_back(each.device + ": " + each.why);
  return out;
}

std::vector<std::string> formula_lines(const Plan& plan, const RatePlan& rate) {
  std::vector<std::string> out;
  for (const Baseline& each : rate.baselines)
    out.push_back(each.name + ": " + each.option.name() + ", " + cost_text(plan, each.option) + ": " +
                  verdict_text(each.option, plan.requests));
  return out;
}

std::vector<std::string> doubt_lines(const Plan& plan, bool all) {
  std::vector<std::string> out;
  for (const RatePlan& rate : plan.rates) out.insert(out.end(), rate.doubts.begin(), rate.doubts.end());
  constexpr std::size_t kFew = 3;
  const std::size_t shown = all ? plan.assumptions.size() : std::min(kFew, plan.assumptions.size());
  for (std::size_t i = 0; i < shown; ++i) out.push_back("assumed: " + plan.assumptions[i]);
  if (shown < plan.assumptions.size())
    out.push_back("and " + std::to_string(plan.assumptions.size() - shown) + " more assumptions (--verbose)");
  out.insert(out.end(), plan.notes.begin(), plan.notes.end());
  return out;
}

}  // namespace kvplan::planner
