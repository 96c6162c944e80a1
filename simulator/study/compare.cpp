#include "simulator/study/compare.h"

#include <algorithm>

#include "simulator/scenario/scenario_files.h"

namespace kvplan::runs {
namespace {

/// Empty if the variant cannot be read.
using Job = std::optional<Case>;

/// Runs the jobs that exist, and stores their outcomes in the variants.
Status run_all(std::vector<Job>& jobs, Inputs& inputs, const CompareOptions& options,
               std::vector<Variant>& variants) {
  std::size_t at = 0;
  Cases cases;
  cases.threads = std::min(options.threads, static_cast<int>(std::min<std::size_t>(jobs.size(), INT32_MAX)));
  cases.control = options.control;
  cases.openers = inputs.openers();
  cases.next = [&]() -> Result<std::optional<std::int64_t>> {
    while (at < jobs.size() && !jobs[at]) ++at;
    return at < jobs.size() ? std::optional(static_cast<std::int64_t>(at++)) : std::nullopt;
  };
  cases.make = [&](std::int64_t number) -> Result<Case> { return *jobs[static_cast<std::size_t>(number)]; };
  cases.done = [&](Outcome&& outcome) -> Status {
    const auto i = static_cast<std::size_t>(outcome.number);
    variants[i].result = std::move(outcome.result);
    variants[i].error = std::move(outcome.error);
    jobs[i].reset();
    return Done{};
  };
  cases.idle = [] { return Status(Done{}); };
  return run_cases(cases);
}

/// Compares the decisions of each variant with those of the first that ran.
void find_partings(const std::vector<std::shared_ptr<Decided>>& decided, Comparison& comparison) {
  auto& variants = comparison.variants;
  const auto first = std::find_if(variants.begin(), variants.end(),
                                  [](const Variant& variant) { return variant.result.has_value(); });
  const auto from = static_cast<std::size_t>(first - variants.begin());
  comparison.parted_from = from;
  for (std::size_t i = from + 1; i < variants.size(); ++i)
    if (variants[i].result)
      variants[i].parting = parting_of(decided[from]->replicas(), decided[i]->replicas());
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
                           Inputs& inputs, const CompareOptions& options) {
  Comparison comparison{varies, {}};
  KVPLAN_TRY(const Combinations combinations, Combinations::of(varies, kMostVariants));
  if (options.partings && combinations.count() > kMostParted)
    return bad_input("expected at most " + std::to_string(kMostParted) + " variants, found " +
                     std::to_string(combinations.count()))
        .at_field("--parting");
  std::vector<std::shared_ptr<Decided>> decided(static_cast<std::size_t>(combinations.count()));
  comparison.variants.resize(static_cast<std::size_t>(combinations.count()));
  std::vector<Job> jobs(comparison.variants.size());
  ValueCheck values(combinations);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (options.control != nullptr && options.control->wants_stop()) return interrupted_error();
    const auto number = static_cast<std::int64_t>(i);
    comparison.variants[i].varied = combinations.at(number);
    Result<Scenario> scenario = resolve(combinations.settings(settings, number));
    values.told(number, scenario ? nullptr : &scenario.error());
    if (scenario) {
      if (options.partings) decided[i] = std::make_shared<Decided>();
      jobs[i] = Case{
          std::move(scenario).value(),
          {},
          {.timeline_bins = i < options.most_timelines ? options.timeline_bins : 0, .decided = decided[i]}};
    } else {
      comparison.variants[i].error = scenario.error();
    }
  }
  if (varies.empty() && comparison.variants[0].error) return *comparison.variants[0].error;
  KVPLAN_TRY_DO(values.slips(settings));
  for (const Job& job : jobs)
    if (job && options.check) KVPLAN_TRY_DO(options.check(job->scenario));
  for (const Job& job : jobs)
    if (job) inputs.meet(files_of(job->scenario));

  std::int64_t requests = 0;
  for (Job& job : jobs) {
    if (!job) continue;
    KVPLAN_TRY(job->trace, inputs.trace(job->scenario));
    requests += requests_to_serve(*job);
  }
  if (options.on_begin) options.on_begin(requests);
  KVPLAN_TRY_DO(run_all(jobs, inputs, options, comparison.variants));
  const auto ran = [](const Variant& variant) { return variant.result.has_value(); };
  if (std::none_of(comparison.variants.begin(), comparison.variants.end(), ran))
    return *comparison.variants.front().error;
  if (options.partings) find_partings(decided, comparison);
  return comparison;
}

}  // namespace kvplan::runs
