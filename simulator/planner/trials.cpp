#include "simulator/planner/trials.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "simulator/report/number_text.h"

namespace kvplan::planner {
namespace {

/// Most time between two commits: what a killed process loses at most, beside the cases that run.
constexpr auto kPeriod = std::chrono::milliseconds(300);

runs::Outcome interrupted_outcome(std::int64_t number) {
  runs::Outcome out{number};
  out.error = interrupted_error();
  return out;
}

}  // namespace

std::string outcome_text(const Step& step, const std::vector<Target>& targets) {
  if (!step.outcome.error.empty()) return "cannot run: " + step.outcome.error;
  if (step.meets) return "meets the targets";
  if (step.outcome.saturated) return "overloaded: requests arrive faster than they are served";
  std::string out = "misses";
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (holds(targets[i], step.outcome.values[i])) continue;
    out += std::string(out == "misses" ? " " : ", ") + targets[i].name + ": " +
           targets[i].value_text(*step.outcome.values[i]);
  }
  return out;
}

Job Trials::job_of(std::size_t rate, const Trial& trial) const {
  return {options_.space->settings(options_.space->options().rates[rate], trial.shape, trial.replicas),
          trial.slice ? options_.slice : options_.trace};
}

Result<std::vector<Trials::Ran>> Trials::run_jobs(const std::vector<Job>& jobs,
                                                  const std::vector<Target>& targets,
                                                  const std::function<Status(std::size_t, Ran&)>& done) {
  std::vector<Ran> ran(jobs.size());
  const runs::Openers openers = options_.inputs->openers();
  const runs::CaseMaker make = [&](std::int64_t number) -> Result<runs::Case> {
    const Job& job = jobs[static_cast<std::size_t>(number)];
    KVPLAN_TRY(runs::Scenario scenario, runs::resolve(job.settings));
    return runs::Case{std::move(scenario), job.trace, {.timeline_bins = job.timeline_bins, .requests = true}};
  };
  std::int64_t at = 0;
  runs::Batch batch;
  batch.threads = static_cast<int>(std::min<std::int64_t>(options_.threads, std::ssize(jobs)));
  batch.next = [&]() -> Result<std::optional<std::int64_t>> {
    return at < std::ssize(jobs) ? std::optional(at++) : std::nullopt;
  };
  batch.run = [&](std::int64_t number) {
    if (options_.control != nullptr && options_.control->wants_stop()) return interrupted_outcome(number);
    runs::Outcome outcome = runs::run_case(number, make, openers, options_.control);
    // Results by request are needed only here.
    Ran& to = ran[static_cast<std::size_t>(number)];
    if (outcome.result) {
      to.outcome = outcome_of(*outcome.result, targets);
      if (options_.store != nullptr)
        for (const runs::Figure& figure : runs::figures())
          to.figures.push_back(figure.value(*outcome.result));
      outcome.result.reset();
    } else {
      to.outcome.error = outcome.error->to_string();
      to.outcome.values.resize(targets.size());
    }
    return outcome;
  };
  batch.done = [&](runs::Outcome&& outcome) -> Status {
    const auto i = static_cast<std::size_t>(outcome.number);
    KVPLAN_TRY_DO(done(i, ran[i]));
    if (options_.on_run) options_.on_run();
    return Done{};
  };
  batch.idle = [&]() -> Status {
    return options_.store != nullptr ? options_.store->commit() : Status(Done{});
  };
  KVPLAN_TRY_DO(runs::run_batch(batch));
  return ran;
}

Result<std::vector<CaseOutcome>> Trials::run(std::size_t rate, const std::vector<Trial>& trials) {
  const Space& space = *options_.space;
  std::vector<Job> jobs;
  std::vector<std::size_t> of;  // trials of the jobs
  std::set<std::int64_t> asked;
  const auto number_of = [&](const Trial& trial) {
    return space.number(rate, trial.slice, trial.shape, trial.replicas);
  };
  std::vector<bool> is_new(trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::int64_t number = number_of(trials[i]);
    if (known_.contains(number) || !asked.insert(number).second) continue;
    is_new[i] = true;
    if (options_.store != nullptr) {
      KVPLAN_TRY(std::optional<CaseOutcome> before, options_.store->find(number));
      if (before) {
        known_[number] = std::move(*before);
        continue;
      }
    }
    jobs.push_back(job_of(rate, trials[i]));
    of.push_back(i);
  }
  const auto step_of = [&](std::size_t i, const CaseOutcome& outcome) {
    return Step{number_of(trials[i]), rate, trials[i], outcome, verdict_of(outcome, options_.targets).meets};
  };
  auto kept = std::chrono::steady_clock::now();
  const auto keep = [&](std::size_t job, Ran& ran) -> Status {
    const std::size_t i = of[job];
    known_[number_of(trials[i])] = ran.outcome;
    if (options_.store == nullptr) return Done{};
    KVPLAN_TRY_DO(options_.store->add(
        step_of(i, ran.outcome), space.varied(rate, trials[i].slice, trials[i].shape, trials[i].replicas),
        ran.figures));
    if (std::chrono::steady_clock::now() - kept < kPeriod) return Done{};
    kept = std::chrono::steady_clock::now();
    return options_.store->commit();
  };
  KVPLAN_TRY_DO(run_jobs(jobs, options_.targets, keep));
  // Steps are in the order of the trials, whatever the threads did.
  std::vector<CaseOutcome> out;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    out.push_back(known_.at(number_of(trials[i])));
    if (!is_new[i]) continue;
    steps_.push_back(step_of(i, out.back()));
    if (options_.store != nullptr)
      KVPLAN_TRY_DO(options_.store->note(std::ssize(steps_) - 1, steps_.back(),
                                         outcome_text(steps_.back(), options_.targets)));
  }
  if (options_.store != nullptr) KVPLAN_TRY_DO(options_.store->commit());
  return out;
}

const CaseOutcome* Trials::known(std::size_t rate, std::size_t shape, std::int64_t replicas) const {
  const auto found = known_.find(options_.space->number(rate, false, shape, replicas));
  return found == known_.end() ? nullptr : &found->second;
}

Result<std::vector<CaseOutcome>> Trials::outcomes(const std::vector<Job>& jobs,
                                                  const std::vector<Target>& targets) {
  KVPLAN_TRY(std::vector<Ran> ran,
             run_jobs(jobs, targets, [](std::size_t, Ran&) -> Status { return Done{}; }));
  std::vector<CaseOutcome> out;
  for (Ran& each : ran) out.push_back(std::move(each.outcome));
  return out;
}

Result<std::vector<std::optional<runs::RunResult>>> Trials::results(const std::vector<Job>& jobs) {
  std::vector<std::optional<runs::RunResult>> out(jobs.size());
  std::int64_t at = 0;
  runs::Cases cases;
  cases.threads = static_cast<int>(std::min<std::int64_t>(options_.threads, std::ssize(jobs)));
  cases.control = options_.control;
  cases.openers = options_.inputs->openers();
  cases.next = [&]() -> Result<std::optional<std::int64_t>> {
    return at < std::ssize(jobs) ? std::optional(at++) : std::nullopt;
  };
  cases.make = [&](std::int64_t number) -> Result<runs::Case> {
    const Job& job = jobs[static_cast<std::size_t>(number)];
    KVPLAN_TRY(runs::Scenario scenario, runs::resolve(job.settings));
    return runs::Case{std::move(scenario), job.trace, {.timeline_bins = job.timeline_bins, .requests = true}};
  };
  cases.done = [&](runs::Outcome&& outcome) -> Status {
    out[static_cast<std::size_t>(outcome.number)] = std::move(outcome.result);
    if (options_.on_run) options_.on_run();
    return Done{};
  };
  cases.idle = [] { return Status(Done{}); };
  KVPLAN_TRY_DO(runs::run_cases(cases));
  return out;
}

}  // namespace kvplan::planner
