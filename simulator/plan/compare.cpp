#include "simulator/plan/compare.h"

#include <algorithm>
#include <map>
#include <new>
#include <stdexcept>

#include "simulator/base/threads.h"

namespace kvplan::plan {
namespace {

/// A variant on its way to a result.
struct Job {
  std::optional<Scenario> scenario;
  const traces::Trace* trace{nullptr};
  bool timeline{false};
};

RunOptions run_options(const Job& job, const CompareOptions& options) {
  RunOptions run;
  run.timeline_bins = job.timeline ? options.timeline_bins : 0;
  run.timeline_joined = true;
  run.control = options.control;
  run.open_recording = options.open_recording;
  run.open_model = options.open_model;
  run.open_steps = options.open_steps;
  run.open_prices = options.open_prices;
  run.open_scores = options.open_scores;
  return run;
}

void run_job(const Job& job, const CompareOptions& options, Variant& variant) {
  Result<RunResult> result = run_scenario(*job.scenario, *job.trace, run_options(job, options));
  if (!result) {
    variant.error = result.error();
    return;
  }
  variant.result = std::move(result).value();
  if (options.keep_requests) return;
  forget_requests(*variant.result);
}

/// False: there was not enough memory.
bool run_guarded(const Job& job, const CompareOptions& options, Variant& variant) {
  variant.error.reset();
  try {
    run_job(job, options, variant);
    return true;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  variant.result.reset();
  variant.error = bad_input("out of memory");
  return false;
}

bool stopped(const CompareOptions& options) {
  return options.control != nullptr && options.control->wants_stop();
}

void run_all(const std::vector<Job>& jobs, const CompareOptions& options, std::vector<Variant>& variants) {
  std::vector<char> starved(jobs.size(), 0);  // a byte each: every thread writes its own
  on_threads(options.threads, jobs.size(), [&](std::size_t i) {
    if (stopped(options)) return;
    if (jobs[i].scenario && !run_guarded(jobs[i], options, variants[i])) starved[i] = 1;
  });
  // Each run holds a pool. What did not fit beside others may fit alone, as with one thread: the result does not
  // depend on their number.
  for (std::size_t i = 0; i < jobs.size() && options.threads > 1 && !stopped(options); ++i)
    if (starved[i] != 0) run_guarded(jobs[i], options, variants[i]);
}

}  // namespace

std::string Variant::name() const {
  std::string out;
  for (const auto& [path, value] : varied) {
    const std::size_t dot = path.rfind('.');
    out.append(out.empty() ? "" : ", ").append(dot == std::string::npos ? path : path.substr(dot + 1));
    out.append("=").append(value);
  }
  return out.empty() ? "as given" : out;
}

Result<Comparison> compare(const std::vector<Setting>& settings, const std::vector<Vary>& varies,
                           const TraceReader& read_trace, const CompareOptions& options) {
  Comparison comparison{varies, {}};
  KVPLAN_TRY(const Combinations combinations, Combinations::of(varies, kMostVariants));
  comparison.variants.resize(static_cast<std::size_t>(combinations.count()));
  std::vector<Job> jobs(comparison.variants.size());
  ValueCheck values(combinations);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    comparison.variants[i].varied = combinations.at(number);
    Result<Scenario> scenario = resolve(combinations.settings(settings, number));
    values.told(number, scenario ? nullptr : &scenario.error());
    jobs[i].timeline = i < options.most_timelines;
    if (scenario) {
      jobs[i].scenario = std::move(scenario).value();
    } else {
      comparison.variants[i].error = scenario.error();
    }
  }
  if (varies.empty() && comparison.variants[0].error) return *comparison.variants[0].error;
  KVPLAN_TRY_DO(values.slips(settings));
  for (const Job& job : jobs)
    if (job.scenario && options.check) KVPLAN_TRY_DO(options.check(*job.scenario));

  std::map<std::pair<std::string, traces::ImportOptions>, traces::Trace> traces;
  std::int64_t requests = 0;
  for (Job& job : jobs) {
    if (!job.scenario) continue;
    const auto file = std::make_pair(job.scenario->trace, job.scenario->import);
    auto found = traces.find(file);
    if (found == traces.end()) {
      KVPLAN_TRY(traces::Trace trace, read_trace(*job.scenario));
      found = traces.emplace(file, std::move(trace)).first;
    }
    job.trace = &found->second;
    requests += requests_to_serve(*job.scenario, *job.trace, run_options(job, options));
  }
  if (options.on_begin) options.on_begin(requests);
  run_all(jobs, options, comparison.variants);

  bool any = false;
  for (const Variant& variant : comparison.variants) {
    if (variant.error && variant.error->kind == ErrorKind::kInterrupted) return *variant.error;
    // the threads stopped before it began
    if (!variant.error && !variant.result) return interrupted_error();
    any = any || variant.result.has_value();
  }
  if (!any) return *comparison.variants.front().error;
  return comparison;
}

}  // namespace kvplan::plan
