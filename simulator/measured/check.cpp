#include "simulator/measured/check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/report/number_text.h"
#include "simulator/results/figures.h"
#include "simulator/study/shortage.h"

namespace kvplan::measured {
namespace {

constexpr double kSmall = 0.05;
constexpr double kSmallOfPool = 0.02;

/// Tokens of the pool as engines report them: all blocks, the null block included.
std::optional<double> pool_tokens(const runs::RunResult& run) {
  if (run.details.empty()) return std::nullopt;
  const core::MemoryLayout& layout = run.details.front().layout;
  if (!layout.groups.empty()) return std::nullopt;  // blocks of groups are not blocks of tokens
  return static_cast<double>((layout.alloc_units + (layout.null_block ? 1 : 0)) * layout.alloc_unit_tokens);
}

std::optional<double> predicted(const runs::RunResult& run, const std::string& name) {
  if (name == kPoolTokens) return pool_tokens(run);
  return runs::number_of(runs::figure_named(name).value(run));
}

/// The error of a latency: of its mean, else of its median.
const Quantity* latency(const Check& check, const std::string& name) {
  for (const char* statistic : {".mean", ".p50"}) {
    for (const Quantity& quantity : check.quantities)
      if (quantity.name == "latency_s." + name + statistic && quantity.error) return &quantity;
  }
  return nullptr;
}

/// An error in words: "12.0 % too long".
std::string in_words(double error, const char* more, const char* less) {
  return report::percent(std::abs(error)) + " too " + (error > 0 ? more : less);
}

bool short_of_memory(const runs::RunResult& run) {
  return runs::shortage_of(run) == runs::Shortage::kHappens;
}

/// Seconds that a completed request takes outside the engine, in the mean.
double outside_s(const runs::RunResult& run) {
  if (!run.step_time || run.completed == 0) return 0;
  return run.step_time->seconds.back() / static_cast<double>(run.completed);
}

void find_cause(const runs::RunResult& run, Check& check) {
  const auto decide = [&](Cause cause, std::string why) {
    check.cause = cause;
    check.why = std::move(why);
  };
  for (const Quantity& quantity : check.quantities) {
    if (quantity.name != kPoolTokens || !quantity.error || std::abs(*quantity.error) <= kSmallOfPool)
      continue;
    if (short_of_memory(run))
      return decide(Cause::kPool, "The pool is " + in_words(*quantity.error, "large", "small") +
                                      ", and memory ran out in the run.");
  }
  const Quantity* const ttft = latency(check, "ttft");
  const Quantity* const tpot = latency(check, "tpot");
  const double of_ttft = ttft != nullptr ? *ttft->error : 0;
  const double of_tpot = tpot != nullptr ? *tpot->error : 0;
  const bool ttft_errs = std::abs(of_ttft) > kSmall, tpot_errs = std::abs(of_tpot) > kSmall;
  const std::string ttft_words = "TTFT is " + in_words(of_ttft, "long", "short");
  const std::string tpot_words = "TPOT is " + in_words(of_tpot, "long", "short");
  if (ttft_errs && tpot_errs && (of_ttft > 0) != (of_tpot > 0)) {
    const std::string opposite = ttft_words + " and " + tpot_words + ": " + (of_tpot > 0 ? "more" : "fewer") +
                                 " requests run at once than on the server";
    if (short_of_memory(run))
      return decide(Cause::kPool, opposite +
                                      ", and memory decides how many. Compare the pool with the server's "
                                      "start-up log.");
    return decide(Cause::kSchedulerLimit, opposite +
                                              ". Compare the limits of sequences and of tokens per step "
                                              "with the server's.");
  }
  if (tpot_errs) return decide(Cause::kStep, tpot_words + ": steps take another time than on the server.");
  if (ttft_errs) {
    const double difference = *ttft->predicted - ttft->measured;
    if (of_ttft < 0)
      return decide(Cause::kOutside,
                    ttft_words + " by " + report::seconds_text(-difference) +
                        ", and TPOT does not show it: requests take longer before the engine "
                        "has them.");
    if (difference <= outside_s(run))
      return decide(Cause::kOutside, ttft_words + " by " + report::seconds_text(difference) +
                                         ", less than what kvplan adds outside the engine (" +
                                         report::seconds_text(outside_s(run)) + " a request).");
    return decide(Cause::kStep,
                  ttft_words + ", and TPOT does not show it: steps with prompts take less time.");
  }
  const bool all_small = std::all_of(check.quantities.begin(), check.quantities.end(), [](const Quantity& q) {
    return !q.error || std::abs(*q.error) <= kSmall;
  });
  decide(Cause::kNone,
         all_small ? "Every quantity is within 5 %."
                   : "TTFT and TPOT are within 5 % or were not measured, and do not explain the rest.");
}

/// What both sides count exactly must be equal; else the workload is another one.
void compare_workloads(Check& check) {
  for (const Quantity& quantity : check.quantities) {
    if (quantity.name != "requests.completed" && quantity.name != "tokens.input" &&
        quantity.name != "tokens.output")
      continue;
    if (quantity.error && std::abs(*quantity.error) > 0.01)
      check.warnings.push_back("The run served another workload: " + quantity.name + " is " +
                               report::grouped(std::llround(*quantity.predicted)) + ", and " +
                               report::grouped(std::llround(quantity.measured)) + " was measured.");
  }
}

}  // namespace

Quantity quantity_of(std::string name, std::optional<double> predicted, double measured) {
  Quantity quantity{std::move(name), predicted, measured, {}};
  if (predicted && measured != 0) quantity.error = *predicted / measured - 1;
  return quantity;
}

std::string_view cause_name(Cause cause) {
  switch (cause) {
    case Cause::kNone:
      return "none";
    case Cause::kPool:
      return "pool";
    case Cause::kSchedulerLimit:
      return "scheduler limit";
    case Cause::kStep:
      return "step";
    case Cause::kOutside:
      break;
  }
  return "outside";
}

Result<Check> check_run(const runs::RunResult& run, const std::vector<Measured>& measured) {
  Check check;
  for (const Measured& each : measured) {
    const bool twice = std::any_of(check.quantities.begin(), check.quantities.end(),
                                   [&](const Quantity& known) { return known.name == each.name; });
    if (twice) return bad_input("two files measured " + each.name).at_field("--measured");
    check.quantities.push_back(quantity_of(each.name, predicted(run, each.name), each.value));
  }
  find_cause(run, check);
  compare_workloads(check);
  return check;
}

}  // namespace kvplan::measured
