#include "simulator/planner/planner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "simulator/base/check.h"
#include "simulator/planner/around.h"
#include "simulator/planner/prepare.h"
#include "simulator/report/number_text.h"

namespace kvplan::planner {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// When late requests arrived: the first and the last of them.
void add_late_times(const runs::RunResult& result, Option& option) {
  std::vector<std::size_t> late;
  option.met = met_fraction(result, &late);
  option.late = static_cast<std::int64_t>(late.size());
  for (const std::size_t i : late) {
    const double at = seconds(result.records[i].arrival.since_start);
    option.late_from_s = std::min(option.late_from_s.value_or(at), at);
    option.late_to_s = std::max(option.late_to_s.value_or(at), at);
  }
}

class Planner {
 public:
  Planner(const PlanRequest& request, Prepared prepared)
      : request_(request), prepared_(std::move(prepared)) {}

  Result<Plan> take() {
    KVPLAN_TRY_DO(open_trials());
    plan_.trace = prepared_.first.trace;
    plan_.requests = prepared_.first.limit >= 0 ? std::min(prepared_.first.limit, prepared_.trace->size())
                                                : prepared_.trace->size();
    plan_.model = prepared_.first.text("model");
    plan_.currency = prepared_.prices ? prepared_.prices->currency : std::string();
    plan_.start_up_s = request_.start_up_s;
    plan_.targets = prepared_.targets;
    plan_.refused = prepared_.refused;
    plan_.notes = prepared_.notes;
    for (std::size_t rate = 0; rate < request_.rates.size(); ++rate) {
      const Status status = plan_rate(rate);
      if (status.ok()) continue;
      if (status.error().kind != ErrorKind::kInterrupted || !found_any()) return status.error();
      plan_.interrupted = true;
      break;
    }
    describe_path();
    note_errors();
    return std::move(plan_);
  }

 private:
  Status open_trials() {
    TrialOptions options;
    options.space = &prepared_.space;
    options.inputs = request_.inputs.get();
    options.targets = prepared_.targets;
    options.trace = prepared_.trace;
    options.slice = prepared_.slice;
    options.threads = request_.threads;
    options.control = request_.control;
    if (request_.open_store) {
      KVPLAN_TRY(store_, request_.open_store(prepared_.space, prepared_.targets, prepared_.first));
      options.store = store_.get();
    }
    options.on_run = [this] {
      ++runs_;
      if (request_.on_progress) request_.on_progress(runs_, std::max(expected(), runs_ + 1));
    };
    trials_.emplace(std::move(options));
    return Done{};
  }

  /// A guess from what plans took: a few runs for each shape, and those around the answer.
  [[nodiscard]] std::int64_t expected() const {
    const std::int64_t of_shape = prepared_.slice != nullptr ? 8 : 4;
    const std::int64_t kAround = 130 + 3 * request_.resamples.value_or(100);
    return std::ssize(request_.rates) * (of_shape * std::ssize(prepared_.shapes) + kAround);
  }
  [[nodiscard]] bool found_any() const {
    return std::any_of(plan_.rates.begin(), plan_.rates.end(),
                       [](const RatePlan& r) { return r.best.has_value(); });
  }

  [[nodiscard]] SearchResult search_by(std::size_t rate, const std::vector<Target>& targets,
                                       double most_cost) {
    SearchRequest request;
    for (const LiveShape& live : prepared_.shapes) request.shapes.push_back({live.group, live.gpus});
    request.most_gpus = request_.most_gpus;
    request.cost = [this](std::size_t group, std::int64_t gpus) { return prepared_.cost(group, gpus); };
    request.most_cost = most_cost;
    request.slices = prepared_.slice != nullptr;
    request.run = [&, this](const std::vector<Trial>& trials) -> Result<std::vector<Verdict>> {
      std::vector<Trial> in_space = trials;  // the search numbers live shapes only
      for (Trial& trial : in_space) trial.shape = prepared_.shapes[trial.shape].shape;
      KVPLAN_TRY(const auto outcomes, trials_->run(rate, in_space));
      std::vector<Verdict> out;
      for (const CaseOutcome& outcome : outcomes) out.push_back(verdict_of(outcome, targets));
      return out;
    };
    return search(request);
  }

  Option option_of(std::size_t rate, std::size_t shape, std::int64_t replicas,
                   const CaseOutcome& outcome) const {
    const auto live = std::find_if(prepared_.shapes.begin(), prepared_.shapes.end(),
                                   [&](const LiveShape& each) { return each.shape == shape; });
    Option out;
    out.settings = prepared_.space.settings(request_.rates[rate], shape, replicas);
    out.device = prepared_.devices[live->group];
    out.replicas = replicas;
    for (const auto& [path, value] : prepared_.space.shape(shape)) {
      if (path == "deployment.tp") {
        out.tensor_ranks = parse_integer(value).value_or(1);
      } else if (path == "deployment.pp") {
        out.stages = parse_integer(value).value_or(1);
      } else if (path != "deployment.device") {
        out.others.emplace_back(path, value);
      }
    }
    out.gpus = live->gpus * replicas;
    if (prepared_.prices) {
      const auto cost = runs::cost_of(*prepared_.prices, out.device, out.gpus);
      KVPLAN_CHECK(cost.ok());
      out.nodes = cost.value().nodes;
      out.cost_per_hour = cost.value().per_hour;
      constexpr double kSeconds = 3600, kMillion = 1e6;
      if (outcome.output_tokens_per_s && *outcome.output_tokens_per_s > 0)
        out.cost_per_million_output_tokens =
            *out.cost_per_hour / (*outcome.output_tokens_per_s * kSeconds) * kMillion;
    }
    const Verdict verdict = verdict_of(outcome, prepared_.targets);
    out.meets = verdict.meets;
    out.overloaded = verdict.overload;
    for (std::size_t i = 0; i < outcome.values.size(); ++i) {
      const Target& target = prepared_.targets[i];
      TargetOutcome each{target, outcome.values[i], holds(target, outcome.values[i]), {}};
      if (each.value && std::isfinite(*each.value)) each.margin = 1 - tightness(target, each.value);
      out.targets.push_back(std::move(each));
    }
    out.met = outcome.met;
    out.late = outcome.late;
    out.prefix_hit_share = outcome.prefix_hit_share;
    out.preemptions = outcome.preemptions;
    out.pool_tokens = live->pool_tokens;
    out.pool_low_tokens = live->pool_low_tokens;
    out.pool_high_tokens = live->pool_high_tokens;
    return out;
  }
  Option option_of(std::size_t rate, const Found& found) const {
    const std::size_t shape = prepared_.shapes[found.shape].shape;
    const CaseOutcome* outcome = trials_->known(rate, shape, found.replicas);
    KVPLAN_CHECK(outcome != nullptr);
    return option_of(rate, shape, found.replicas, *outcome);
  }

  Status plan_rate(std::size_t rate) {
    const double most_cost = request_.budget_per_hour.value_or(kInfinite);
    const SearchResult found = search_by(rate, prepared_.targets, most_cost);
    const auto best = found.best();
    if (found.error && (found.error->kind != ErrorKind::kInterrupted || !best)) return *found.error;
    if (!best) return nothing_meets(rate, found);
    RatePlan& out = plan_.rates.emplace_back();
    out.rate = request_.rates[rate];
    out.best = option_of(rate, *best);
    add_others(rate, found, *best, out);
    if (found.error) return *found.error;
    return look_around(rate, found, *best, most_cost, out);
  }

  void add_others(std::size_t rate, const SearchResult& found, const Found& best, RatePlan& out) {
    for (const auto& each : found.of_group)
      if (each && each->shape != best.shape) out.runners_up.push_back(option_of(rate, *each));
    std::stable_sort(out.runners_up.begin(), out.runners_up.end(), [](const Option& a, const Option& b) {
      return std::pair(a.cost_per_hour.value_or(static_cast<double>(a.gpus)), a.gpus) <
             std::pair(b.cost_per_hour.value_or(static_cast<double>(b.gpus)), b.gpus);
    });
    for (std::size_t shape = 0; shape < found.of_shape.size(); ++shape) {
      const auto& each = found.of_shape[shape];
      if (each && shape != best.shape && each->cost == best.cost)
        out.ties.push_back(option_of(rate, *each).name());
    }
    for (std::size_t group = 0; group < prepared_.devices.size(); ++group)
      if (group >= found.of_group.size() || !found.of_group[group])
        out.unmet.push_back({prepared_.devices[group], why_unmet(rate, found, group)});
    for (const Contradiction& each : found.contradictions)
      out.doubts.push_back("More replicas are not always better here: " +
                           prepared_.space.shape_name(prepared_.shapes[each.shape].shape) +
                           " meets the targets with " + std::to_string(each.fewer) +
                           " replicas and misses them with " + std::to_string(each.more) + ".");
  }

  /// Why no deployment of a device is an answer.
  std::string why_unmet(std::size_t rate, const SearchResult& found, std::size_t group) const {
    const auto nearest = nearest_of(found, group);
    if (!nearest) {
      const std::string& device = prepared_.devices[group];
      for (const Refusal& refusal : prepared_.refused)
        if (refusal.shape.starts_with(device)) return refusal.shape + ": " + refusal.why;
      return "nothing was within --max-gpus and --budget";
    }
    const Option option = option_of(rate, *nearest);
    std::string out = option.name() + " comes nearest, and misses";
    const char* separator = " ";
    for (const TargetOutcome& each : option.targets) {
      if (each.holds) continue;
      out += separator + each.target.text() + " (" +
             (each.value ? each.target.value_text(*each.value) : "none") + ")";
      separator = ", ";
    }
    return out;
  }
  /// The deployment of a group (or of all) that comes nearest to its limits.
  std::optional<Found> nearest_of(const SearchResult& found, std::optional<std::size_t> group) const {
    std::optional<Found> nearest;
    for (std::size_t shape = 0; shape < found.tried.size(); ++shape) {
      const LiveShape& live = prepared_.shapes[shape];
      if (group && live.group != *group) continue;
      for (const auto& [replicas, verdict] : found.tried[shape]) {
        if (!verdict.ran || (nearest && verdict.tightness >= nearest->tightness)) continue;
        const std::int64_t gpus = replicas * live.gpus;
        nearest = Found{shape, replicas, gpus, prepared_.cost(live.group, gpus), verdict.tightness};
      }
    }
    return nearest;
  }

  /// The first case that could not run; null: none.
  [[nodiscard]] const Step* first_error() const {
    const auto& steps = trials_->steps();
    const auto found = std::find_if(steps.begin(), steps.end(),
                                    [](const Step& step) { return !step.outcome.error.empty(); });
    return found == steps.end() ? nullptr : &*found;
  }
  /// Cases that could not run count as unfit. That may be a mistake in a value, so it is said.
  void note_errors() {
    const Step* const first = first_error();
    if (first == nullptr) return;
    const auto count = std::count_if(trials_->steps().begin(), trials_->steps().end(),
                                     [](const Step& step) { return !step.outcome.error.empty(); });
    plan_.notes.push_back(report::grouped(count) +
                          (count == 1 ? " case could not run: " : " cases could not run; the first: ") +
                          first->outcome.error + ".");
  }

  /// The error where nothing meets the targets: what would help.
  Error nothing_meets(std::size_t rate, const SearchResult& found) {
    if (request_.budget_per_hour) {
      const SearchResult more = search_by(rate, prepared_.targets, kInfinite);
      if (more.error) return *more.error;
      if (const auto best = more.best())
        return bad_input("nothing within the budget meets the targets; the cheapest is " +
                         option_of(rate, *best).name() + ", which needs --budget " +
                         report::rounded(best->cost))
            .at_field("--budget");
    }
    const auto nearest = nearest_of(found, std::nullopt);
    if (!nearest) {
      const Step* const failed = first_error();
      return bad_input("no deployment within --max-gpus " + std::to_string(request_.most_gpus) +
                       " could run" + (failed == nullptr ? "" : ": " + failed->outcome.error))
          .at_field("--max-gpus");
    }
    const Option option = option_of(rate, *nearest);
    std::string change;
    for (const TargetOutcome& each : option.targets) {
      if (each.holds) continue;
      change += (change.empty() ? "" : ", ") + each.target.text() + " would have to be " +
                (each.value ? each.target.value_text(*each.value) : "dropped");
    }
    return bad_input("nothing meets the targets with at most " + std::to_string(request_.most_gpus) +
                     " GPUs; nearest is " + option.name() + ": " + change +
                     (prepared_.too_long.empty() ? "" : "; " + prepared_.too_long))
        .at_field("--target");
  }

  Status look_around(std::size_t rate, const SearchResult& found, const Found& best, double most_cost,
                     RatePlan& out) {
    const std::size_t shape = prepared_.shapes[best.shape].shape;
    Found in_space = best;
    in_space.shape = shape;
    KVPLAN_TRY_DO(compare_neighbours(rate, found, best, out));
    KVPLAN_TRY(auto results, trials_->results({{out.best->settings, prepared_.trace, kPressureBins}}));
    KVPLAN_CHECK(results.front().has_value());
    out.run = std::make_shared<const runs::RunResult>(std::move(*results.front()));
    const runs::RunResult& result = *out.run;
    add_late_times(result, *out.best);
    if (out.best->pool_tokens == 0) {
      const runs::PoolShape& pool = result.replicas.front().pool;
      out.best->pool_tokens = pool.alloc_units * pool.alloc_unit_tokens;
    }
    for (const std::string& each : result.assumptions)
      if (std::find(plan_.assumptions.begin(), plan_.assumptions.end(), each) == plan_.assumptions.end())
        plan_.assumptions.push_back(each);
    for (const std::string& each : result.warnings)
      if (std::find(plan_.notes.begin(), plan_.notes.end(), each) == plan_.notes.end())
        plan_.notes.push_back(each);
    const Answer answer{prepared_,
                        *trials_,
                        request_,
                        rate,
                        in_space,
                        &result,
                        [&, rate](std::size_t s, std::int64_t replicas, const CaseOutcome& outcome) {
                          return option_of(rate, s, replicas, outcome);
                        }};
    KVPLAN_TRY(out.headroom, headroom_of(answer));
    KVPLAN_TRY(out.binding, binding_of(answer));
    KVPLAN_TRY(out.constraint_prices, prices_of_constraints(answer, [&](const std::vector<Target>& targets) {
                 return search_by(rate, targets, most_cost);
               }));
    const Option* const fewer = out.fewer ? &*out.fewer : nullptr;
    const Option* const more = out.more ? &*out.more : nullptr;
    KVPLAN_TRY(out.traffic, traffic_doubt_of(answer, fewer, more));
    KVPLAN_TRY(out.sensitivity, sensitivity_of(answer, *out.best, fewer));
    out.tightest = tightness(prepared_.targets, values_of(result, prepared_.targets));
    KVPLAN_TRY(out.day, day_of(answer));
    KVPLAN_TRY(out.baselines, baselines_of(answer));
    sum_day(out);
    add_run(rate, found, result, out);
    return Done{};
  }

  /// What a page shows of the search and of the answer's run.
  void add_run(std::size_t rate, const SearchResult& found, const runs::RunResult& result, RatePlan& out) {
    out.pressure = pressure_of(result, prepared_.targets);
    if (!out.pressure.empty())
      out.pressure_part_s =
          seconds(result.makespan) / static_cast<double>(out.pressure.front().shares.size());
    for (std::size_t shape = 0; shape < found.tried.size(); ++shape) {
      const LiveShape& live = prepared_.shapes[shape];
      for (const auto& [replicas, verdict] : found.tried[shape]) {
        const CaseOutcome* const outcome = trials_->known(rate, live.shape, replicas);
        if (!verdict.ran || outcome == nullptr) continue;
        const Option option = option_of(rate, live.shape, replicas, *outcome);
        out.tried.push_back({option.name(), option.device, prepared_.cost(live.group, option.gpus),
                             option.met, option.meets, option.overloaded});
      }
    }
  }

  void sum_day(RatePlan& out) const {
    if (out.day.size() < 2) return;
    const double part_h = (out.day[1].begin_s - out.day[0].begin_s) / 3600;
    double sum = 0;
    for (const DayPart& part : out.day) sum += static_cast<double>(part.gpus) * part_h;
    out.day_gpu_hours = sum;
    out.fixed_gpu_hours = static_cast<double>(out.best->gpus) * part_h * static_cast<double>(out.day.size());
  }

  /// One replica fewer (or, of one replica, the next smaller shape of the device) and one more.
  Status compare_neighbours(std::size_t rate, const SearchResult& found, const Found& best, RatePlan& out) {
    const auto with = [&](std::size_t live, std::int64_t replicas) {
      return Trial{prepared_.shapes[live].shape, replicas, false, "beside the answer"};
    };
    std::vector<Trial> trials;
    if (best.replicas > 1) {
      trials.push_back(with(best.shape, best.replicas - 1));
      out.fewer_note = "one replica fewer";
    } else if (const auto smaller = smaller_shape(found, best)) {
      trials.push_back(with(*smaller, 1));
      out.fewer_note = "fewer GPUs of this device";
    } else {
      out.fewer_note = "there is no smaller deployment of this device";
    }
    const bool has_fewer = !trials.empty();
    if ((best.replicas + 1) * prepared_.shapes[best.shape].gpus <= request_.most_gpus)
      trials.push_back(with(best.shape, best.replicas + 1));
    KVPLAN_TRY(const auto outcomes, trials_->run(rate, trials));
    const auto option = [&](std::size_t i) -> std::optional<Option> {
      if (!outcomes[i].error.empty()) return std::nullopt;
      return option_of(rate, trials[i].shape, trials[i].replicas, outcomes[i]);
    };
    if (has_fewer) out.fewer = option(0);
    if (trials.size() > (has_fewer ? 1U : 0U)) out.more = option(trials.size() - 1);
    if (!out.fewer) return Done{};
    KVPLAN_TRY(const auto results, trials_->results({{out.fewer->settings, prepared_.trace}}));
    if (results.front()) add_late_times(*results.front(), *out.fewer);
    return Done{};
  }
  /// The largest shape of the device with fewer GPUs than the answer; of several, the one that came nearest when it was
  /// tried with one replica.
  std::optional<std::size_t> smaller_shape(const SearchResult& found, const Found& best) const {
    std::optional<std::size_t> smaller;
    const auto key = [&](std::size_t shape) {
      const auto tried = found.tried[shape].find(1);
      return std::pair(-prepared_.shapes[shape].gpus,
                       tried == found.tried[shape].end() ? kInfinite : tried->second.tightness);
    };
    for (std::size_t i = 0; i < prepared_.shapes.size(); ++i) {
      const LiveShape& live = prepared_.shapes[i];
      if (live.group != prepared_.shapes[best.shape].group || live.gpus >= best.gpus) continue;
      if (!smaller || key(i) < key(*smaller)) smaller = i;
    }
    return smaller;
  }

  void describe_path() {
    for (const Step& step : trials_->steps()) {
      std::string name = prepared_.space.shape_name(step.trial.shape) + ", " +
                         std::to_string(step.trial.replicas) +
                         (step.trial.replicas == 1 ? " replica" : " replicas");
      if (request_.rates.size() > 1) name += ", rate " + request_.rates[step.rate];
      if (step.trial.slice) name += ", slice";
      plan_.path.push_back(
          {step.number, std::move(name), step.trial.why, outcome_text(step, prepared_.targets)});
    }
  }

  const PlanRequest& request_;
  Prepared prepared_;
  std::unique_ptr<Store> store_;
  std::optional<Trials> trials_;
  Plan plan_;
  std::int64_t runs_{0};
};

}  // namespace

std::string Option::name() const {
  std::string out = std::to_string(gpus) + " " + (device.empty() ? "GPU" : device) +
                    (device.empty() && gpus != 1 ? "s" : "") + " (" + std::to_string(replicas) +
                    (replicas == 1 ? " replica" : " replicas") + ", tp=" + std::to_string(tensor_ranks);
  if (stages > 1) out += ", pp=" + std::to_string(stages);
  for (const auto& [path, value] : others) out += ", " + path.substr(path.rfind('.') + 1) + "=" + value;
  return out + ")";
}

Result<Plan> make_plan(const PlanRequest& request) {
  KVPLAN_TRY(Prepared prepared, prepare(request));
  return Planner(request, std::move(prepared)).take();
}

runs::Vary with_whole_path(runs::Vary vary, const runs::Scenario& scenario) {
  const scheduling::EngineTraits traits = scenario.engine_traits();
  const std::array<std::pair<std::string_view, std::string>, 9> names{
      {{"kv-format", "format"},
       {"tp", "deployment.tp"},
       {"pp", "deployment.pp"},
       {"prefix-cache", "engine.prefix_cache"},
       {"max-seqs", "engine." + std::string(traits.running.param)},
       {"token-budget", "engine." + std::string(traits.step_tokens.param)},
       {"block", "memory.allocator.block_tokens"},
       {"allocator", "memory.allocator"},
       {"router", "fleet.router"}}};
  for (const auto& [name, path] : names)
    if (vary.path == name) {
      vary.path = path;
      break;
    }
  return vary;
}

}  // namespace kvplan::planner
