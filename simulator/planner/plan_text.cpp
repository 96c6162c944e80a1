#include "simulator/planner/plan_text.h"

#include <algorithm>
#include <cmath>

#include "simulator/report/number_text.h"
#include "simulator/report/text.h"

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

class Writer {
 public:
  Writer(const Plan& plan, std::size_t width) : plan_(plan), width_(width) {}

  void line(const std::string& text) { out_ += report::wrapped("  " + text, width_, "    ") + "\n"; }
  void title(const std::string& text) { out_ += "\n" + text + "\n"; }
  void head(const std::string& text) { out_ += report::wrapped(text, width_, "  ") + "\n"; }
  void table(const report::Table& table) { out_ += "\n" + report::table_text(table, width_); }

  void rate(const RatePlan& rate);
  void rest(bool verbose);
  std::string take() { return std::move(out_); }

 private:
  void answer(const RatePlan& rate);
  void around(const RatePlan& rate);
  void others(const RatePlan& rate);

  const Plan& plan_;
  std::size_t width_;
  std::string out_;
};

void Writer::answer(const RatePlan& rate) {
  const Option& best = *rate.best;
  title(plan_.rates.size() == 1 && rate.rate == "1" ? "Answer"
                                                    : "Answer at " + rate.rate + " times the trace's rate");
  std::string text = best.name() + ", " + cost_text(plan_, best);
  if (best.nodes) text += " (" + grouped(*best.nodes) + (*best.nodes == 1 ? " node)" : " nodes)");
  if (best.cost_per_million_output_tokens)
    text += ", " + rounded(*best.cost_per_million_output_tokens) + " " + plan_.currency +
            " per million output tokens";
  line(text);
  report::Table targets{"Targets", {"is", "limit", "margin"}, {}};
  for (const TargetOutcome& each : best.targets)
    targets.rows.push_back(
        {each.target.name, {value_of(each), each.target.value_text(each.target.limit), margin_of(each)}});
  table(targets);
  std::string met = late_text(best, plan_.requests);
  if (best.met) met += " (" + percent(*best.met) + " in time)";
  met += "; pool of " + grouped(best.pool_tokens) + " tokens a replica";
  if (best.pool_low_tokens && best.pool_high_tokens)
    met += " (" + grouped(*best.pool_low_tokens) + " to " + grouped(*best.pool_high_tokens) + ")";
  if (best.preemptions > 0) met += "; " + grouped(best.preemptions) + " preemptions";
  if (best.prefix_hit_share && *best.prefix_hit_share > 0)
    met += "; " + percent(*best.prefix_hit_share) + " of prompt tokens are prefix hits";
  line(met);
}

void Writer::around(const RatePlan& rate) {
  title("Around it");
  if (rate.fewer) {
    std::string text = "fewer: " + rate.fewer->name() + ", " + cost_text(plan_, *rate.fewer) + ": " +
                       verdict_text(*rate.fewer, plan_.requests);
    if (rate.fewer->late_from_s)
      text += " (arrived from " + seconds_text(*rate.fewer->late_from_s) + " to " +
              seconds_text(*rate.fewer->late_to_s) + ")";
    line(text);
  } else if (!rate.fewer_note.empty()) {
    line("fewer: " + rate.fewer_note);
  }
  if (rate.more)
    line("more: " + rate.more->name() + ", " + cost_text(plan_, *rate.more) + ": " +
         verdict_text(*rate.more, plan_.requests));
  if (rate.headroom)
    line(std::string("head-room: holds up to ") + (rate.headroom->at_least ? "at least " : "") +
         report::fixed(rate.headroom->rate_scale, 2) + " times this rate");
  if (!rate.binding.empty()) {
    std::string text = "what binds (10 % more of it brings the tightest target nearer by): ";
    for (std::size_t i = 0; i < rate.binding.size() && i < 4; ++i)
      text += (i == 0 ? "" : ", ") + rate.binding[i].what + " " +
              report::fixed(rate.binding[i].gain * 100, 1) + " %";
    if (rate.binding.front().when_s)
      text += "; most of the slow requests arrive around " + seconds_text(*rate.binding.front().when_s);
    line(text);
  }
  for (const ConstraintPrice& each : rate.constraint_prices) {
    const std::string loosened = each.target.name + " at " + each.relaxed.value_text(each.relaxed.limit);
    if (each.saves_per_hour <= 0 && each.saves_gpus <= 0) {
      line("10 % looser, " + loosened + ": saves nothing");
    } else if (plan_.currency.empty()) {
      line("10 % looser, " + loosened + ": saves " + grouped(each.saves_gpus) + " GPUs (" + each.with + ")");
    } else {
      line("10 % looser, " + loosened + ": saves " + rounded(each.saves_per_hour) + " " + plan_.currency +
           " an hour (" + each.with + ")");
    }
  }
  if (rate.day_gpu_hours && rate.fixed_gpu_hours) {
    const auto [least, most] = std::minmax_element(
        rate.day.begin(), rate.day.end(), [](const DayPart& a, const DayPart& b) { return a.gpus < b.gpus; });
    line("over the trace: " + grouped(least->gpus) + " to " + grouped(most->gpus) + " GPUs are needed, " +
         rounded(*rate.day_gpu_hours) + " GPU hours with a perfect autoscaler (start-up " +
         seconds_text(plan_.start_up_s) + ") against " + rounded(*rate.fixed_gpu_hours));
  }
}

void Writer::others(const RatePlan& rate) {
  if (!rate.runners_up.empty() || !rate.unmet.empty()) {
    title("Other devices");
    for (const Option& each : rate.runners_up)
      line(each.name() + ", " + cost_text(plan_, each) + ": " + verdict_text(each, plan_.requests));
    for (const Unmet& each : rate.unmet) line(each.device + ": " + each.why);
  }
  for (const std::string& tie : rate.ties) line("the same price: " + tie);
  if (rate.baselines.empty()) return;
  title("What formulas would have bought");
  for (const Baseline& each : rate.baselines)
    line(each.name + ": " + each.option.name() + ", " + cost_text(plan_, each.option) + ": " +
         verdict_text(each.option, plan_.requests));
}

void Writer::rate(const RatePlan& rate) {
  answer(rate);
  around(rate);
  others(rate);
}

void Writer::rest(bool verbose) {
  title("Doubts");
  for (const RatePlan& rate : plan_.rates)
    for (const std::string& each : rate.doubts) line(each);
  constexpr std::size_t kFew = 3;
  const std::size_t shown = verbose ? plan_.assumptions.size() : std::min(kFew, plan_.assumptions.size());
  for (std::size_t i = 0; i < shown; ++i) line("assumed: " + plan_.assumptions[i]);
  if (shown < plan_.assumptions.size())
    line("and " + std::to_string(plan_.assumptions.size() - shown) + " more assumptions (--verbose)");
  for (const std::string& each : plan_.notes) line(each);
  if (!verbose) {
    line("The search tried " + grouped(std::ssize(plan_.path)) + " cases; " +
         std::to_string(plan_.refused.size()) + " shapes were left out (--verbose lists both)");
    return;
  }
  title("Shapes that were left out");
  for (const Refusal& each : plan_.refused) line(each.shape + ": " + each.why);
  title("Steps of the search");
  for (const PathStep& each : plan_.path) line(each.name + " (" + each.why + "): " + each.outcome);
}

}  // namespace

std::string cost_text(const Plan& plan, const Option& option) {
  if (!option.cost_per_hour) return std::to_string(option.gpus) + (option.gpus == 1 ? " GPU" : " GPUs");
  return rounded(*option.cost_per_hour) + " " + plan.currency + " an hour";
}

std::string plan_text(const Plan& plan, std::size_t width, bool verbose) {
  Writer writer(plan, width);
  std::string targets;
  for (const Target& target : plan.targets) targets += (targets.empty() ? "" : ", ") + target.text();
  writer.head(grouped(plan.requests) + " requests on " + plan.model + ": " + targets);
  if (plan.interrupted) writer.head("Interrupted: the best so far; what is missing was not run.");
  for (const RatePlan& rate : plan.rates)
    if (rate.best) writer.rate(rate);
  writer.rest(verbose);
  return writer.take();
}

}  // namespace kvplan::planner
