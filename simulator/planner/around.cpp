#include "simulator/planner/around.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/check.h"
#include "simulator/base/json_writer.h"
#include "simulator/report/number_text.h"

namespace kvplan::planner {
namespace {

/// `rate` times `percent` / 100, exactly.
std::string rate_times(const std::string& rate, std::int64_t percent) {
  const Result<Fraction> fraction = parse_fraction(rate);
  KVPLAN_CHECK(fraction.ok());  // scenarios with it were resolved
  return std::to_string(fraction.value().numerator * percent) + "/" +
         std::to_string(fraction.value().denominator * 100);
}

/// True for each percentage at which all targets hold.
Result<std::vector<bool>> meet_at(const Answer& answer, const std::vector<std::int64_t>& percents) {
  std::vector<Job> jobs;
  for (const std::int64_t percent : percents) {
    std::vector<runs::Setting> settings = answer.settings();
    settings.push_back(
        planned("workload.rate_scale", rate_times(answer.request.rates[answer.rate], percent)));
    jobs.push_back({std::move(settings), answer.prepared.trace});
  }
  const std::vector<Target>& targets = answer.prepared.targets;
  KVPLAN_TRY(const auto outcomes, answer.trials.outcomes(jobs, targets));
  std::vector<bool> out;
  for (const CaseOutcome& outcome : outcomes) out.push_back(verdict_of(outcome, targets).meets);
  return out;
}

}  // namespace

const LiveShape& Answer::live() const {
  const auto at = std::find_if(prepared.shapes.begin(), prepared.shapes.end(),
                               [&](const LiveShape& live) { return live.shape == found.shape; });
  KVPLAN_CHECK(at != prepared.shapes.end());
  return *at;
}

Result<Headroom> headroom_of(const Answer& answer) {
  constexpr std::int64_t kMost = 400;
  std::int64_t meets = 100, misses = kMost + 1;
  std::vector<std::int64_t> asked{110, 130, 170, kMost};
  while (!asked.empty()) {
    KVPLAN_TRY(const std::vector<bool> met, meet_at(answer, asked));
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!met[i]) {
        misses = asked[i];
        break;
      }
      meets = asked[i];
    }
    if (meets == kMost) return Headroom{static_cast<double>(kMost) / 100, true};
    // Three in each round, however many threads there are.
    asked.clear();
    const std::int64_t gap = misses - meets;
    for (std::int64_t part = 1; part <= 3; ++part) {
      const std::int64_t percent = meets + gap * part / 4;
      if (percent > meets && percent < misses && (asked.empty() || asked.back() != percent))
        asked.push_back(percent);
    }
  }
  return Headroom{static_cast<double>(meets) / 100, false};
}

Result<std::vector<ConstraintPrice>> prices_of_constraints(const Answer& answer, const SearchBy& search) {
  constexpr double kLooser = 0.1;
  std::vector<ConstraintPrice> out;
  const std::vector<Target>& targets = answer.prepared.targets;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::vector<Target> relaxed = targets;
    relaxed[i] = looser(relaxed[i], kLooser);
    ConstraintPrice price{targets[i], relaxed[i], {}, 0, 0, {}};
    const SearchResult result = search(relaxed);
    if (result.error) return *result.error;
    if (const auto best = result.best()) {
      const LiveShape& live = answer.prepared.shapes[best->shape];
      const CaseOutcome* outcome = answer.trials.known(answer.rate, live.shape, best->replicas);
      price.with =
          answer.option(live.shape, best->replicas, outcome != nullptr ? *outcome : CaseOutcome{}).name();
      price.cost_per_hour = best->cost;
      price.saves_per_hour = std::max(0.0, answer.found.cost - best->cost);
      price.saves_gpus = std::max<std::int64_t>(0, answer.found.gpus - best->gpus);
    }
    out.push_back(std::move(price));
  }
  return out;
}

namespace {

/// A parameter of step times that stands for a resource.
struct Knob {
  std::string_view param;
  std::string_view what;
  bool time{false};  ///< less of it is more of the resource
};
constexpr std::array kKnobs{Knob{"memory_efficiency", "memory bandwidth (weights)"},
                            Knob{"bandwidth", "memory bandwidth"},
                            Knob{"compute_efficiency", "prefill compute"},
                            Knob{"attention_efficiency", "prefill attention"},
                            Knob{"link_efficiency", "links between ranks"},
                            Knob{"collective_ns", "links between ranks", true},
                            Knob{"kernel_ns", "kernel launches", true},
                            Knob{"overhead_ns", "scheduling of steps", true},
                            Knob{"base_ns", "fixed time of a step", true},
                            Knob{"token_ns", "prefill compute", true},
                            Knob{"context_ns", "decode attention", true},
                            Knob{"decode_base_ns", "fixed time of a decode step", true},
                            Knob{"decode_context_ns", "decode attention", true},
                            Knob{"prefill_token_ns", "prefill compute", true}};

/// The middle of the 24th of the trace in which most of the slow tail of a target lies.
std::optional<double> tail_time(const runs::RunResult& result, const Target& target, double limit) {
  constexpr std::size_t kTailParts = 24;
  std::array<std::int64_t, kTailParts> counts{};
  double span = 0;
  for (const auto& record : result.records)
    if (record.status != observe::RequestStatus::kNotArrived)
      span = std::max(span, seconds(record.arrival.since_start));
  if (span <= 0) return std::nullopt;
  const auto kind = latency_kind(target.name);
  for (std::size_t i = 0; i < result.records.size(); ++i) {
    const auto& r = result.records[i];
    if (r.status == observe::RequestStatus::kNotArrived) continue;
    const bool slow = r.status != observe::RequestStatus::kCompleted ||
                      (kind && request_latency_s(result, i, *kind) >= limit);
    if (!slow) continue;
    const auto part = static_cast<std::size_t>(seconds(r.arrival.since_start) / span * kTailParts);
    ++counts[std::min(part, kTailParts - 1)];
  }
  const auto most = std::max_element(counts.begin(), counts.end());
  if (*most == 0) return std::nullopt;
  return (static_cast<double>(most - counts.begin()) + 0.5) * span / kTailParts;
}

}  // namespace

namespace {

/// Away from the limit as it is, and at least 1.
std::int64_t whole_limit(std::int64_t now, double factor) {
  const double then = static_cast<double>(now) * factor;
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(factor > 1 ? std::ceil(then) : std::floor(then)));
}

}  // namespace

std::vector<ResourceChange> resource_changes(const Answer& answer, double factor) {
  const runs::Scenario& s = answer.result->scenario;
  std::vector<ResourceChange> out;
  const auto add = [&](std::string_view what, runs::Setting change) {
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const ResourceChange& each) { return each.what == what; });
    (same == out.end() ? out.emplace_back(ResourceChange{std::string(what), {}}) : *same)
        .settings.push_back(std::move(change));
  };
  const runs::PoolShape& pool = answer.result->replicas.front().pool;
  add("KV memory",
      planned("memory.pool_bytes",
              std::to_string(static_cast<std::int64_t>(static_cast<double>(pool.capacity_bytes) * factor))));
  const scheduling::EngineTraits traits = s.engine_traits();
  const auto limit = [&](std::string_view what, const scheduling::EngineLimit& each) {
    if (each.param.empty() || each.value <= 0) return;
    add(what, planned("engine." + std::string(each.param), std::to_string(whole_limit(each.value, factor))));
  };
  limit("sequence limit (" + std::string(traits.running.param) + ")", traits.running);
  limit("tokens of a step (" + std::string(traits.step_tokens.param) + ")", traits.step_tokens);
  const auto params = s.latency.descriptor().params;
  for (const Knob& knob : kKnobs) {
    const auto param = std::find_if(params.begin(), params.end(),
                                    [&](const Param& each) { return each.name == knob.param; });
    if (param == params.end() || !s.latency.says(knob.param) || param->kind == ParamKind::kText) continue;
    const double now = s.latency.decimal(knob.param);
    const double then = std::clamp(knob.time ? now / factor : now * factor, param->low, param->high);
    if (then == now) continue;
    add(knob.what, planned("latency." + std::string(knob.param), shortest(then)));
  }
  return out;
}

Result<std::vector<Binding>> binding_of(const Answer& answer) {
  const std::vector<Target>& targets = answer.prepared.targets;
  const std::vector<TargetValue> values = values_of(*answer.result, targets);
  std::size_t tightest = 0;
  for (std::size_t i = 1; i < targets.size(); ++i)
    if (tightness(targets[i], values[i]) > tightness(targets[tightest], values[tightest])) tightest = i;
  const double now = tightness(targets[tightest], values[tightest]);
  constexpr double kMore = 1.1;
  const std::vector<ResourceChange> changes = resource_changes(answer, kMore);
  std::vector<Job> jobs;
  for (const ResourceChange& change : changes) {
    std::vector<runs::Setting> settings = answer.settings();
    settings.insert(settings.end(), change.settings.begin(), change.settings.end());
    jobs.push_back({std::move(settings), answer.prepared.trace});
  }
  KVPLAN_TRY(const auto outcomes, answer.trials.outcomes(jobs, targets));
  std::vector<Binding> out;
  double all = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!outcomes[i].error.empty() || now <= 0) continue;
    const double gain = (now - tightness(targets[tightest], outcomes[i].values[tightest])) / now;
    if (gain <= 0.001) continue;
    all += gain;
    out.push_back({changes[i].what, 0, gain, {}});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Binding& a, const Binding& b) { return a.gain > b.gain; });
  const double limit = targets[tightest].at_most() ? values[tightest].value_or(0) : 0;
  const auto when = limit > 0 ? tail_time(*answer.result, targets[tightest], limit) : std::nullopt;
  for (Binding& each : out) {
    each.share = each.gain / all;
    each.when_s = when;
  }
  return out;
}

}  // namespace kvplan::planner
