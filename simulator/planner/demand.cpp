// What the trace asks for over the day, and what formulas would have bought.
#include <algorithm>
#include <cmath>

#include "simulator/base/check.h"
#include "simulator/planner/around.h"
#include "simulator/report/number_text.h"
#include "traces/edit/edits.h"
#include "traces/record/statistics.h"

namespace kvplan::planner {
namespace {

constexpr std::int64_t kParts = 24;

double rate_of(const Answer& answer) {
  const Result<Fraction> fraction = parse_fraction(answer.request.rates[answer.rate]);
  KVPLAN_CHECK(fraction.ok());
  return static_cast<double>(fraction.value().numerator) / static_cast<double>(fraction.value().denominator);
}

/// A part of the trace, and the search for its fewest replicas.
struct Part {
  runs::TracePtr trace;  // null: nothing arrives
  std::int64_t misses{0}, meets{0};
};

}  // namespace

Result<std::vector<DayPart>> day_of(const Answer& answer) {
  std::vector<DayPart> out;
  const traces::Trace& trace = *answer.prepared.trace;
  if (!trace.shares_clock || !trace.waits.empty()) return out;
  const auto [first, last] = std::minmax_element(trace.arrival_ns.begin(), trace.arrival_ns.end());
  const std::int64_t span_ns = *last - *first + 1;
  if (span_ns <= kParts) return out;
  std::vector<Part> parts;
  for (std::int64_t i = 0; i < kParts; ++i) {
    const auto at = [&](std::int64_t n) { return static_cast<std::int64_t>(Wide{span_ns} * n / kParts); };
    auto window = traces::window_of(trace, at(i), at(i + 1));
    parts.push_back({window.ok() ? std::make_shared<const traces::Trace>(std::move(window).value()) : nullptr,
                     0, answer.found.replicas});
  }
  // All parts side by side; premise: more replicas meet what fewer meet, and the answer's meet every part.
  const std::vector<Target>& targets = answer.prepared.targets;
  while (true) {
    std::vector<Job> jobs;
    std::vector<std::pair<std::size_t, std::int64_t>> of;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].trace == nullptr || parts[i].meets - parts[i].misses <= 1) continue;
      const std::int64_t replicas = parts[i].misses + (parts[i].meets - parts[i].misses) / 2;
      jobs.push_back(
          {answer.prepared.space.settings(answer.request.rates[answer.rate], answer.found.shape, replicas),
           parts[i].trace});
      of.emplace_back(i, replicas);
    }
    if (jobs.empty()) break;
    KVPLAN_TRY(const auto outcomes, answer.trials.outcomes(jobs, targets));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Part& part = parts[of[i].first];
      (verdict_of(outcomes[i], targets).meets ? part.meets : part.misses) = of[i].second;
    }
  }
  const double part_s = static_cast<double>(span_ns) / 1e9 / kParts / rate_of(answer);
  const std::int64_t gpus = answer.live().gpus;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // A server that is needed in a part is there from start_up_s before it.
    std::int64_t most = 0;
    for (std::size_t j = i; j < parts.size(); ++j) {
      const double until_begin_s = (static_cast<double>(j - i) - 1) * part_s;
      if (j > i && until_begin_s >= answer.request.start_up_s) break;
      if (parts[j].trace != nullptr) most = std::max(most, parts[j].meets);
    }
    out.push_back({static_cast<double>(i) * part_s, most * gpus});
  }
  return out;
}

Result<std::vector<Baseline>> baselines_of(const Answer& answer) {
  std::vector<Baseline> out;
  const traces::Statistics statistics = traces::compute_statistics(*answer.prepared.trace);
  const std::int64_t pool = answer.live().pool_tokens > 0
                                ? answer.live().pool_tokens
                                : answer.result->replicas.front().pool.alloc_units *
                                      answer.result->replicas.front().pool.alloc_unit_tokens;
  if (!statistics.rate_per_s || !statistics.input.mean || pool <= 0) return out;
  double ttft_s = 1, tpot_s = 0.05;
  for (const Target& target : answer.prepared.targets) {
    if (target.name.starts_with("ttft")) ttft_s = target.limit;
    if (target.name.starts_with("tpot")) tpot_s = target.limit;
  }
  const runs::Scenario& s = answer.result->scenario;
  if (s.target_ttft_s) ttft_s = *s.target_ttft_s;
  if (s.target_tpot_s) tpot_s = *s.target_tpot_s;
  const double rate = *statistics.rate_per_s * rate_of(answer);
  const double in = *statistics.input.mean, made = *statistics.output.mean;
  const double stay_s = ttft_s + made * tpot_s;
  const double running = rate * stay_s;  // Little's law
  const auto longest = static_cast<double>(answer.prepared.longest_tokens);
  const double per_pool = static_cast<double>(pool);
  const std::string law = report::rounded(rate) + " requests/s x " + report::seconds_text(stay_s) +
                          " (the targets' longest stay) = " + report::rounded(running) + " at once, x ";
  struct Rule {
    const char* name;
    std::string formula;
    double tokens;
  };
  const std::vector<Rule> rules{
      {"mean lengths in a spreadsheet",
       law + report::rounded(in + made / 2) + " tokens on average / " + report::grouped(pool) +
           " tokens of a pool",
       running * (in + made / 2) / per_pool},
      {"reserve the maximum",
       law + report::rounded(longest) + " tokens of the longest request / " + report::grouped(pool),
       running * longest / per_pool},
      {"30 % of a pool holds tokens",
       law + report::rounded(in + made / 2) + " tokens on average / 30 % of " + report::grouped(pool) +
           " (contiguous reservation leaves 20 to 40 % of a pool to tokens: PagedAttention, arXiv "
           "2309.06180)",
       running * (in + made / 2) / per_pool / 0.3}};
  std::vector<Trial> trials;
  const std::int64_t most = answer.request.most_gpus / answer.live().gpus;
  std::vector<Job> jobs;
  std::vector<std::int64_t> replicas;
  for (const Rule& rule : rules) {
    replicas.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(rule.tokens)), 1, most));
    jobs.push_back({answer.prepared.space.settings(answer.request.rates[answer.rate], answer.found.shape,
                                                   replicas.back()),
                    answer.prepared.trace});
  }
  KVPLAN_TRY(const auto outcomes, answer.trials.outcomes(jobs, answer.prepared.targets));
  for (std::size_t i = 0; i < rules.size(); ++i)
    out.push_back(
        {rules[i].name, rules[i].formula, answer.option(answer.found.shape, replicas[i], outcomes[i])});
  return out;
}

}  // namespace kvplan::planner
