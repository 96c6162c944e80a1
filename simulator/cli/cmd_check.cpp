// kvplan check: a run held against what was measured on a real server.
#include <memory>
#include <optional>

#include "simulator/cli/command.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/scenario_input.h"
#include "simulator/io/openers.h"
#include "simulator/measured/check_output.h"
#include "simulator/scenario/scenario_files.h"
#include "traces/io/input.h"

namespace kvplan::cli {
namespace {

/// A file of results is small, and a log says what its pool is in its first part.
constexpr std::size_t kMostBytes = std::size_t{1} << 26;

struct CheckFlags {
  ScenarioInput input;
  std::vector<std::string> measured;
  std::string json;
};

Result<std::vector<measured::Measured>> read_all(const std::vector<std::string>& paths) {
  std::vector<measured::Measured> all;
  for (const std::string& path : paths) {
    KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(path));
    std::string text;
    for (std::string_view piece = input->take(1 << 18); !piece.empty() && text.size() < kMostBytes;
         piece = input->take(1 << 18))
      text += piece;
    if (input->failed()) return input->error();
    KVPLAN_TRY(const auto figures, measured::read_measured(text, path));
    all.insert(all.end(), figures.begin(), figures.end());
  }
  return all;
}

Status run(const CheckFlags& flags) {
  std::vector<std::string> inputs = flags.measured;
  inputs.push_back(flags.input.path);
  KVPLAN_TRY_DO(check_apart(inputs, {flags.json}));
  KVPLAN_TRY(const auto measured, read_all(flags.measured));
  KVPLAN_TRY(const auto settings, read_settings(flags.input));
  KVPLAN_TRY(const runs::Scenario scenario, runs::resolve(settings));
  KVPLAN_TRY_DO(check_apart(runs::files_of(scenario), {flags.json}));
  KVPLAN_TRY(const traces::Trace trace, read_trace_of(scenario, flags.input.import));
  core::RunControl control;
  control.stop_asked = interrupted;
  runs::RunOptions options{io::file_openers()};
  options.control = &control;
  const auto run_it = [&] {
    const Progress progress(control, runs::requests_to_serve(scenario, trace, options));
    return runs::run_scenario(scenario, trace, options);
  };
  KVPLAN_TRY(const runs::RunResult result, run_it());
  KVPLAN_TRY(const measured::Check check, measured::check_run(result, measured));
  if (flags.json == "-") print_warnings(check.warnings);
  Outputs outputs;
  if (!flags.json.empty()) KVPLAN_TRY_DO(outputs.add(flags.json, measured::check_json(check)));
  KVPLAN_TRY_DO(outputs.commit());
  if (flags.json == "-") return Done{};
  return write_text("-", measured::check_text(check, result, output_width()));
}

}  // namespace

void add_check(Command& app, Outcome& outcome) {
  Command* const command = app.add_subcommand(
      "check", "Hold a run against results that were measured on a real server, and say what errs");
  auto flags = std::make_shared<CheckFlags>();
  add_scenario_options(*command, flags->input);
  command
      ->add_option(
          "--measured", flags->measured,
          "A result of vllm bench serve or sglang.bench_serving, a CSV row, or a server's start-up log; "
          "may be given again")
      ->repeatable()
      ->one_value_each()
      ->required();
  add_json_option(*command, flags->json, "quantities, errors and the likeliest cause");
  run_as(*command, outcome, [flags] { return run(*flags); });
}

}  // namespace kvplan::cli
