// kvplan compare: one scenario in several variants, side by side.
#include <algorithm>
#include <memory>
#include <optional>

#include "simulator/cli/command.h"
#include "simulator/cli/import_options.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/scenario_input.h"
#include "simulator/cli/vary_input.h"
#include "simulator/report/comparison.h"
#include "simulator/report/number_text.h"
#include "simulator/scenario/scenario_files.h"
#include "simulator/study/compare.h"

namespace kvplan::cli {
namespace {

/// Bins of the strips on the page: as many as their width can show.
constexpr std::int64_t kTimelineBins = 320;

struct CompareFlags {
  ScenarioInput input;
  std::vector<std::string> varies;
  std::string json, html;
  int threads{1};
  bool verbose{false};
  bool parting{false};
};

std::string command_line(const CompareFlags& flags) {
  std::string out = "kvplan compare " + report::shell_quoted(flags.input.path) + scenario_flags(flags.input);
  for (const std::string& vary : flags.varies) out += " --vary " + report::shell_quoted(vary);
  if (flags.parting) out += " --parting";
  return out + " --html " + report::shell_quoted(flags.html);
}

/// The variants that could run have been printed by now; any that could not makes the whole command fail.
Status all_ran(const runs::Comparison& comparison) {
  const auto& variants = comparison.variants;
  const auto failed =
      std::count_if(variants.begin(), variants.end(), [](const auto& v) { return v.error.has_value(); });
  if (failed == 0) return Done{};
  return Error{.message = std::to_string(failed) + " of " + std::to_string(variants.size()) +
                          " variants could not run",
               .file = {},
               .field = {},
               .kind = ErrorKind::kCheckFailed};
}

Status run(const CompareFlags& flags) {
  if (flags.json == "-" && flags.html == "-")
    return bad_input("expected at most one output on standard output");
  const std::vector<std::string> output_paths{flags.json, flags.html};
  KVPLAN_TRY_DO(check_apart({flags.input.path}, output_paths));
  KVPLAN_TRY(const auto settings, read_settings(flags.input));
  KVPLAN_TRY(const std::vector<runs::Vary> varies, read_varies(flags.varies));
  KVPLAN_TRY_DO(check_apart({}, output_paths));
  core::RunControl control;
  control.stop_asked = interrupted;
  std::optional<Progress> progress;
  runs::CompareOptions options;
  options.threads = flags.threads;
  options.control = &control;
  if (!flags.html.empty()) options.timeline_bins = kTimelineBins;
  options.partings = flags.parting;
  options.on_begin = [&](std::int64_t requests) { progress.emplace(control, requests); };
  options.check = [&](const runs::Scenario& scenario) {
    return check_apart(runs::files_of(scenario), output_paths);
  };
  runs::Inputs inputs(input_readers(flags.input.import));
  const auto done = runs::compare(settings, varies, inputs, options);
  progress.reset();
  KVPLAN_TRY(const runs::Comparison comparison, done);

  const bool to_stdout = flags.json == "-" || flags.html == "-";
  if (to_stdout) print_warnings(report::comparison_warnings(comparison));  // the text has the warnings itself
  Outputs outputs;
  if (!flags.json.empty()) KVPLAN_TRY_DO(outputs.add(flags.json, report::comparison_json(comparison)));
  if (!flags.html.empty())
    KVPLAN_TRY_DO(outputs.add(flags.html, report::comparison_html(comparison, command_line(flags))));
  KVPLAN_TRY_DO(outputs.commit());
  if (!to_stdout)
    KVPLAN_TRY_DO(write_text("-", report::comparison_text(comparison, output_width(), flags.verbose)));
  return all_ran(comparison);
}

}  // namespace

void add_compare(Command& app, Outcome& outcome) {
  Command* const command =
      app.add_subcommand("compare", "Run variants of a scenario and print them side by side");
  auto flags = std::make_shared<CompareFlags>();
  add_scenario_options(*command, flags->input);
  command->add_option("--vary", flags->varies, kVaryHelp)->repeatable()->one_value_each()->required();
  add_whole_number(*command, "--threads", flags->threads, {1, 1024},
                   "Variants that run at once; the results do not depend on it");
  add_json_option(*command, flags->json, "the reports of all variants");
  command->add_flag("--verbose", flags->verbose,
                    "Print every setting, and all variants and assumptions however many they are");
  command->add_flag("--parting", flags->parting,
                    "Also say when each variant parts from the first: the first step in which the scheduler "
                    "decides otherwise");
  command->add_option("--html", flags->html, "Write one HTML page: the answer, charts and tables");
  run_as(*command, outcome, [flags] { return run(*flags); });
}

}  // namespace kvplan::cli
