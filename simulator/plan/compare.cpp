#include "simulator/plan/compare.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "simulator/base/check.h"
#include "simulator/base/number_input.h"

namespace kvplan::plan {
namespace {

/// A variant on its way to a result.
struct Job {
  std::optional<Scenario> scenario;
  const traces::Trace* trace{nullptr};
  bool timeline{false};
};

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Error at_vary(Error error) {
  if (error.field.empty()) error.field = "--vary";
  return error;
}

Result<std::vector<Variant>> combinations(const std::vector<Vary>& varies) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < varies.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k)
      if (varies[k].path == varies[i].path)
        return bad_input("expected each path once, found " + varies[i].path + " again").at_field("--vary");
    count *= static_cast<std::int64_t>(varies[i].values.size());
    if (count > kMostVariants)
      return bad_input("expected at most " + std::to_string(kMostVariants) + " variants").at_field("--vary");
  }
  std::vector<Variant> variants(static_cast<std::size_t>(count));
  for (std::size_t v = 0; v < variants.size(); ++v) {
    std::size_t rest = v;
    std::vector<std::pair<std::string, std::string>>& varied = variants[v].varied;
    for (std::size_t i = varies.size(); i-- > 0; rest /= varies[i].values.size())
      varied.emplace_back(varies[i].path, varies[i].values[rest % varies[i].values.size()]);
    std::reverse(varied.begin(), varied.end());
  }
  return variants;
}

/// A value that cannot be read alone, nor in any variant, is a slip of the user; otherwise its variants carry
/// their errors.
Status check_values(const std::vector<Setting>& settings, const Comparison& comparison) {
  for (const Vary& vary : comparison.varies) {
    for (const std::string& value : vary.values) {
      const std::pair<std::string, std::string> setting{vary.path, value};
      const Variant* refused = nullptr;
      bool read = false;
      for (const Variant& variant : comparison.variants) {
        if (std::find(variant.varied.begin(), variant.varied.end(), setting) == variant.varied.end())
          continue;
        if (!variant.error) read = true;
        if (variant.error && refused == nullptr) refused = &variant;
      }
      if (read || refused == nullptr) continue;
      std::vector<Setting> alone = settings;
      alone.push_back({vary.path, value, {}, 0});
      if (!resolve(alone).ok()) return at_vary(*refused->error);
    }
  }
  return Done{};
}

RunOptions run_options(const Job& job, const CompareOptions& options) {
  RunOptions run;
  run.timeline_bins = job.timeline ? options.timeline_bins : 0;
  run.timeline_joined = true;
  run.control = options.control;
  run.open_recording = options.open_recording;
  run.open_model = options.open_model;
  run.open_steps = options.open_steps;
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
  variant.result->records = {};
  variant.result->input = {};
  variant.result->output = {};
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
  std::atomic<std::size_t> next{0};
  std::vector<char> starved(jobs.size(), 0);  // a byte each: every thread writes its own
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < jobs.size(); i = next.fetch_add(1)) {
      if (stopped(options)) return;
      if (jobs[i].scenario && !run_guarded(jobs[i], options, variants[i])) starved[i] = 1;
    }
  };
  const auto threads = std::min(static_cast<std::size_t>(std::max(options.threads, 1)), jobs.size());
  std::vector<std::thread> others;
  try {
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work);
  } catch (const std::system_error&) {  // as many threads as the system gives: the results are the same
  } catch (const std::bad_alloc&) {
  }
  work();
  for (std::thread& thread : others) thread.join();
  // Each run holds a pool. What did not fit beside others may fit alone, as with one thread: the result does not
  // depend on their number.
  for (std::size_t i = 0; i < jobs.size() && !others.empty() && !stopped(options); ++i)
    if (starved[i] != 0) run_guarded(jobs[i], options, variants[i]);
}

}  // namespace

Result<Vary> parse_vary(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return not_expected("PATH=VALUE;VALUE;...", text).at_field("--vary");
  Vary vary{std::string(text.substr(0, equals)), {}};
  std::string_view rest = text.substr(equals + 1);
  while (true) {
    const std::size_t semicolon = rest.find(';');
    std::string value(without_spaces(rest.substr(0, semicolon)));
    if (value.empty())
      return bad_input("expected a value between semicolons").at_field("--vary " + vary.path);
    if (std::find(vary.values.begin(), vary.values.end(), value) != vary.values.end())
      return bad_input("expected each value once, found " + found_text(value) + " again")
          .at_field("--vary " + vary.path);
    vary.values.push_back(std::move(value));
    if (semicolon == std::string_view::npos) return vary;
    rest = rest.substr(semicolon + 1);
  }
}

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
  KVPLAN_TRY(comparison.variants, combinations(varies));
  std::vector<Job> jobs(comparison.variants.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<Setting> all = settings;
    for (const auto& [path, value] : comparison.variants[i].varied) all.push_back({path, value, {}, 0});
    Result<Scenario> scenario = resolve(all);
    jobs[i].timeline = i < options.most_timelines;
    if (scenario) {
      jobs[i].scenario = std::move(scenario).value();
    } else {
      comparison.variants[i].error = scenario.error();
    }
  }
  if (varies.empty() && comparison.variants[0].error) return *comparison.variants[0].error;
  KVPLAN_TRY_DO(check_values(settings, comparison));
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
