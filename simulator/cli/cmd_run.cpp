// kvplan run: one scenario on one trace.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "simulator/cli/command.h"
#include "simulator/cli/scenario_input.h"
#include "simulator/plan/report.h"
#include "simulator/plan/run.h"

namespace kvplan::cli {
namespace {

struct RunFlags {
  ScenarioInput input;
  std::string json, requests, timeline;
  std::int64_t timeline_bins{1000};
  bool step_by_step{false};
};

Status check_outputs(const RunFlags& flags) {
  int to_stdout = 0;
  for (const std::string* path : {&flags.json, &flags.requests, &flags.timeline})
    to_stdout += *path == "-" ? 1 : 0;
  if (to_stdout > 1) return bad_input("expected at most one output on standard output");
  return Done{};
}

Status run(const RunFlags& flags) {
  KVPLAN_TRY_DO(check_outputs(flags));
  KVPLAN_TRY(const auto settings, read_settings(flags.input));
  KVPLAN_TRY(const plan::Scenario scenario, plan::resolve(settings));
  KVPLAN_TRY(const traces::Trace trace, read_trace_of(scenario));

  core::RunControl control;
  control.stop_asked = interrupted;
  plan::RunOptions options;
  options.step_by_step = flags.step_by_step;
  options.timeline_bins = flags.timeline.empty() ? 0 : flags.timeline_bins;
  options.control = &control;
  KVPLAN_TRY(const plan::RunResult result, plan::run_scenario(scenario, trace, options));

  for (const std::string& warning : result.warnings)
    std::fprintf(stderr, "kvplan: warning: %s\n", warning.c_str());
  if (!flags.requests.empty()) KVPLAN_TRY_DO(write_text(flags.requests, plan::requests_csv(result)));
  if (!flags.timeline.empty()) KVPLAN_TRY_DO(write_text(flags.timeline, plan::timeline_csv(result)));
  if (!flags.json.empty()) KVPLAN_TRY_DO(write_text(flags.json, plan::report_json(result)));
  return Done{};
}

}  // namespace

void add_run(CLI::App& app, Outcome& outcome) {
  CLI::App* const command =
      app.add_subcommand("run", "Run a scenario, or a bare trace in the default scenario");
  auto flags = std::make_shared<RunFlags>();
  command->add_option("input", flags->input.path, "Scenario (JSON) or trace")->required();
  command
      ->add_option("--set", flags->input.sets,
                   "PATH=VALUE: change one value of the scenario; may be repeated")
      ->take_all();
  command->add_option("--json", flags->json, "Write the report as JSON to FILE, or - for standard output");
  command->add_option("--requests", flags->requests, "Write one CSV line per request");
  command->add_option("--timeline", flags->timeline, "Write the ledger over time as CSV");
  command->add_option("--timeline-bins", flags->timeline_bins, "Bins of the timeline")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
  command->add_flag("--step-by-step", flags->step_by_step,
                    "Use the naive engine: slower, with the same result");
  run_as(*command, outcome, [flags] { return run(*flags); });
}

}  // namespace kvplan::cli
