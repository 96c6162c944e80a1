// kvplan run: one scenario on one trace.
#include <algorithm>
#include <memory>
#include <thread>

#include "simulator/cli/command.h"
#include "simulator/cli/import_options.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/scenario_input.h"
#include "simulator/io/openers.h"
#include "simulator/io/report_file.h"
#include "simulator/io/run_event_log.h"
#include "simulator/report/html.h"
#include "simulator/report/number_text.h"
#include "simulator/report/overview.h"
#include "simulator/report/text.h"
#include "simulator/results/holders_table.h"
#include "simulator/results/report.h"
#include "simulator/run/run.h"
#include "simulator/scenario/scenario_files.h"

namespace kvplan::cli {
namespace {

constexpr std::int64_t kTimelineBins = 1000;

struct RunFlags {
  ScenarioInput input;
  std::string json, report, requests, timeline, html, events, holders, holders_at;
  std::int64_t timeline_bins{kTimelineBins};
  int threads{static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 1024U))};
  bool step_by_step{false};
  bool verbose{false};
};

int uses_stdout(const RunFlags& flags) {
  int uses = 0;
  for (const std::string* path : {&flags.json, &flags.report, &flags.requests, &flags.timeline, &flags.html,
                                  &flags.events, &flags.holders})
    uses += *path == "-" ? 1 : 0;
  return uses;
}

Status check_outputs(const RunFlags& flags) {
  if (uses_stdout(flags) > 1) return bad_input("expected at most one output on standard output");
  if (flags.holders.empty() != flags.holders_at.empty())
    return bad_input("expected both --holders and --holders-at, found one");
  return Done{};
}

std::string command_line(const RunFlags& flags) {
  std::string out = "kvplan run " + report::shell_quoted(flags.input.path) + scenario_flags(flags.input);
  if (flags.timeline_bins != kTimelineBins) out += " --timeline-bins " + std::to_string(flags.timeline_bins);
  return out + " --html " + report::shell_quoted(flags.html);
}

Status run(const RunFlags& flags) {
  KVPLAN_TRY_DO(check_outputs(flags));
  KVPLAN_TRY(const auto settings, read_settings(flags.input));
  KVPLAN_TRY(const runs::Scenario scenario, runs::resolve(settings));
  std::vector<std::string> inputs = runs::files_of(scenario);
  inputs.push_back(flags.input.path);
  KVPLAN_TRY_DO(check_apart(inputs, {flags.json, flags.requests, flags.timeline, flags.html, flags.events,
                                     flags.report, flags.holders}));
  KVPLAN_TRY(const traces::Trace trace, read_trace_of(scenario, flags.input.import));

  core::RunControl control;
  control.stop_asked = interrupted;
  runs::RunOptions options{io::file_openers()};
  options.step_by_step = flags.step_by_step;
  if (!flags.timeline.empty() || !flags.html.empty()) options.timeline_bins = flags.timeline_bins;
  options.request_memory = !flags.requests.empty();
  options.threads = flags.threads;
  options.control = &control;
  io::RunEventLog events(flags.events);
  if (!flags.events.empty()) events.attach(scenario, trace, options);
  runs::HoldersTable holders;
  if (!flags.holders.empty()) KVPLAN_TRY_DO(holders.attach(flags.holders_at, scenario, options));
  const auto run_it = [&] {
    const Progress progress(control, runs::requests_to_serve(scenario, trace, options));
    return runs::run_scenario(scenario, trace, options);
  };
  KVPLAN_TRY(const runs::RunResult result, run_it());

  if (uses_stdout(flags) > 0) print_warnings(result.warnings);  // the text contains the warnings itself
  Outputs outputs;
  if (!flags.requests.empty()) KVPLAN_TRY_DO(outputs.add(flags.requests, runs::requests_csv(result)));
  if (!flags.holders.empty()) KVPLAN_TRY_DO(outputs.add(flags.holders, holders.csv()));
  if (!flags.timeline.empty()) KVPLAN_TRY_DO(outputs.add(flags.timeline, runs::timeline_csv(result)));
  if (!flags.json.empty()) KVPLAN_TRY_DO(outputs.add(flags.json, runs::report_json(result)));
  KVPLAN_TRY_DO(outputs.add_pieces(flags.report, [&](const ByteSink& sink) {
    return io::write_report_binary(result, !flags.timeline.empty(), sink);
  }));
  if (!flags.html.empty())
    KVPLAN_TRY_DO(outputs.add(flags.html, report::run_html(result, command_line(flags))));
  KVPLAN_TRY_DO(events.close());
  KVPLAN_TRY_DO(outputs.commit());
  if (uses_stdout(flags) > 0) return Done{};
  return write_text("-", flags.verbose ? report::content_text(report::run_content(result), output_width())
                                       : report::overview_text(result, output_width()));
}

}  // namespace

void add_run(Command& app, Outcome& outcome) {
  Command* const command = app.add_subcommand("run", "Run a scenario, or a trace in the default scenario");
  auto flags = std::make_shared<RunFlags>();
  add_scenario_options(*command, flags->input);
  add_json_option(*command, flags->json, "the report");
  command->add_flag("--verbose", flags->verbose,
                    "Print every setting, memory state and assumption, and where the pool comes from");
  command->add_option("--report", flags->report,
                      "Write the report in binary form (.kvr), with the timeline if --timeline is given");
  command->add_option("--requests", flags->requests, "Write one CSV line per request to FILE");
  command->add_option("--timeline", flags->timeline, "Write the memory ledger over time as CSV");
  command->add_option("--events", flags->events,
                      "Write the event log of all replicas, for `kvplan-validate replay`");
  command->add_option("--holders", flags->holders,
                      "Write the owners of all memory at one moment as CSV: each block or range, its "
                      "requests, its bytes by state. The run is simulated step by step for this");
  command->add_option("--holders-at", flags->holders_at,
                      "Time for --holders, in seconds. The table shows the last moment up to this time that "
                      "follows a scheduling pass or the end of a step");
  command->add_option("--html", flags->html, "Write one HTML page with tables and charts");
  add_whole_number(*command, "--timeline-bins", flags->timeline_bins, {1, 1'000'000},
                   "Time bins of the timeline and of the charts");
  add_whole_number(*command, "--threads", {1, 1024},
                   "Threads that simulate independent replicas; the result does not depend on their number",
                   "all of the machine",
                   [flags](std::int64_t threads) { flags->threads = static_cast<int>(threads); });
  command->add_flag("--step-by-step", flags->step_by_step, "Use the naive engine: slower, same result");
  run_as(*command, outcome, [flags] { return run(*flags); });
}

}  // namespace kvplan::cli
