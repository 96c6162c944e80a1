#include "simulator/cli/from_command.h"

#include <memory>

#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/io/device_file.h"
#include "simulator/io/model_file.h"
#include "simulator/io/startup_scenario.h"
#include "simulator/launch/from_command.h"
#include "simulator/report/content.h"
#include "simulator/report/text.h"

namespace kvplan::cli {
namespace {

struct Options {
  std::string command, output, json;
  launch::FromCommandOptions choices;
};

std::string answer_text(const launch::FromCommand& answer) {
  report::Table table{std::string(answer.server->product) + " " + std::string(answer.server->version) +
                          (answer.model.empty() ? "" : ", " + answer.model),
                      {""},
                      {},
                      false};
  for (const runs::Setting& setting : answer.settings) table.rows.push_back({setting.path, {setting.text}});
  std::string out = report::table_text(table, output_width());
  const auto line = [&](const std::string& text) {
    out += report::wrapped("  " + text, output_width(), "    ") + "\n";
  };
  const auto flags = [&](const char* title, const std::vector<launch::Ignored>& list) {
    if (!list.empty()) out += std::string("\n") + title + "\n";
    for (const launch::Ignored& each : list) line(each.flag + (each.why.empty() ? "" : ": " + each.why));
  };
  flags("Flags that change memory or speed and that kvplan does not model", answer.affecting);
  flags("Flags that this version does not have", answer.unknown);
  const auto lines = [&](const char* title, const std::vector<std::string>& list) {
    if (!list.empty()) out += std::string("\n") + title + "\n";
    for (const std::string& each : list) line(each);
  };
  lines("Flags that change nothing here", answer.ignored);
  lines("The command does not say", answer.missing);
  lines("Notes", answer.notes);
  return out;
}

std::string answer_json(const launch::FromCommand& answer) {
  JsonWriter json;
  json.begin_object().member("engine", answer.server->engine).member("version", answer.server->version);
  json.key("model");
  answer.model.empty() ? json.null() : json.value(answer.model);
  json.key("settings").begin_object();
  for (const runs::Setting& setting : answer.settings) json.member(setting.path, setting.text);
  json.end_object();
  const auto flags = [&](const char* key, const std::vector<launch::Ignored>& list) {
    json.key(key).begin_array();
    for (const launch::Ignored& each : list)
      json.begin_object().member("flag", each.flag).member("why", each.why).end_object();
    json.end_array();
  };
  flags("affecting", answer.affecting);
  flags("unknown", answer.unknown);
  const auto lines = [&](const char* key, const std::vector<std::string>& list) {
    json.key(key).begin_array();
    for (const std::string& each : list) json.value(each);
    json.end_array();
  };
  lines("ignored", answer.ignored);
  lines("missing", answer.missing);
  lines("notes", answer.notes);
  json.member("version_of_kvplan", kVersion).end_object();
  return json.take();
}

Status run(const Options& options) {
  KVPLAN_TRY_DO(check_apart({}, {options.output, options.json}));
  launch::FromCommandOptions choices = options.choices;
  KVPLAN_TRY(choices.device, io::device_text(choices.device));
  KVPLAN_TRY(const launch::FromCommand answer, launch::from_command(options.command, choices));
  // Runs of the written scenario read the model.
  for (const std::string& model : {answer.model, options.choices.model})
    KVPLAN_TRY_DO(check_apart(io::model_files(model), {options.output, options.json}));
  Outputs outputs;
  KVPLAN_TRY_DO(outputs.add(options.output, io::settings_json(answer.settings)));
  if (options.json.empty() && options.output != "-") {
    KVPLAN_TRY_DO(outputs.add("-", answer_text(answer)));
  } else {
    KVPLAN_TRY_DO(outputs.add(options.json, answer_json(answer)));
  }
  return outputs.commit();
}

}  // namespace

void add_from_command(Command& scenario, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  Command* const command = scenario.add_subcommand(
      "from-command", "Read a scenario from the command line that starts a vLLM or SGLang server");
  command
      ->add_option(
          "COMMAND", options->command,
          "The whole command in quotes: 'vllm serve MODEL --max-num-seqs 128'; its default values are "
          "those of vLLM 0.15.1 and SGLang 0.5.5")
      ->required();
  command->add_option("-o,--output", options->output, "Write the scenario to FILE");
  command->add_option(
      "--model", options->choices.model,
      "Model instead of the command's: a name of kvplan list model, or the path of a config.json");
  command->add_option("--device", options->choices.device,
                      "Device of the server (kvplan list device): it decides the pool and some defaults");
  add_json_option(*command, options->json, "the settings, and the flags that no setting describes");
  run_as(*command, outcome, [options] { return run(*options); });
}

}  // namespace kvplan::cli
