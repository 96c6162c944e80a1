// kvplan scenario: makes scenarios from servers. `from-log` reads a start-up log, `from-command` a command line.
#include <cmath>
#include <memory>
#include <utility>

#include "simulator/base/json_writer.h"
#include "simulator/base/utf8.h"
#include "simulator/base/version.h"
#include "simulator/cli/command.h"
#include "simulator/cli/from_command.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/deployment/deployment.h"
#include "simulator/io/device_file.h"
#include "simulator/io/model_file.h"
#include "simulator/io/side_file.h"
#include "simulator/io/startup_scenario.h"
#include "simulator/report/content.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"
#include "simulator/startup/startup_log.h"
#include "traces/io/input.h"

namespace kvplan::cli {
namespace {

struct LogOptions {
  std::string log, model, device, output, json;
};

/// A quantity that the log reports, and kvplan's prediction of it; GiB, or a count.
struct Term {
  const char* name;
  std::optional<double> logged, predicted;
  bool count{false};
};

struct LogAnswer {
  startup::StartupLog log;
  std::vector<runs::Setting> settings;
  std::vector<Term> terms;
  std::vector<std::string> missing, notes;
};

Result<startup::StartupLog> read_log(const std::string& path) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(path));
  startup::StartupReader reader;
  for (std::string_view piece = input->take(kPiece); !piece.empty(); piece = input->take(kPiece))
    reader.feed(piece);
  if (input->failed()) return input->error();
  return std::move(reader).finish(path);
}

std::optional<double> gib(const startup::Maybe<double>& value) {
  return value ? std::optional(value->value) : std::nullopt;
}
std::optional<double> count(const startup::Maybe<std::int64_t>& value) {
  return value ? std::optional(static_cast<double>(value->value)) : std::nullopt;
}

/// Adds kvplan's predictions, by the names that a derivation uses. Adds none if the device or model is unknown, or the
/// model does not fit: the notes say why.
void add_predictions(const io::StartupChoices& choices, LogAnswer& answer) {
  if (choices.device.empty() || choices.shape == nullptr) return;
  const auto predicted = [&]() -> Result<std::pair<runs::ModelOnRanks, runs::PoolLayout>> {
    KVPLAN_TRY(const runs::Scenario scenario, runs::resolve(io::predicted_settings(answer.log, choices)));
    std::vector<std::string> warnings, assumptions;
    KVPLAN_TRY(runs::ModelOnRanks placed,
               runs::place_model(scenario, *choices.shape, io::open_side_file, warnings, assumptions));
    KVPLAN_TRY(runs::PoolLayout laid_out, runs::lay_out_pool(scenario, *choices.shape, placed));
    return std::pair{std::move(placed), std::move(laid_out)};
  }();
  if (!predicted.ok()) {
    answer.notes.push_back("kvplan predicts no pool here: " + predicted.error().message + ".");
    return;
  }
  const auto& placed = predicted.value().first;
  const runs::PoolLayout& laid_out = predicted.value().second;
  const auto item = [&](std::string_view name) -> std::optional<double> {
    for (const model::PoolItem& each : placed.pool->items)
      if (each.name == name) return static_cast<double>(each.bytes) / (1 << 30);
    return std::nullopt;
  };
  constexpr std::array<std::string_view, 5> kItems{"weights", "activations", "workspace", "graphs",
                                                   "KV pool"};
  for (std::size_t i = 0; i < kItems.size(); ++i) answer.terms[i].predicted = item(kItems[i]);
  answer.terms[5].predicted = static_cast<double>(laid_out.tokens());
  answer.terms[6].predicted = static_cast<double>(laid_out.all_alloc_units());
}

void add_terms(LogAnswer& answer) {
  const startup::WorkerMemory none;
  const startup::WorkerMemory* const deciding = answer.log.deciding();
  const startup::WorkerMemory& worker = deciding != nullptr          ? *deciding
                                        : answer.log.workers.empty() ? none
                                                                     : answer.log.workers.front();
  answer.terms = {
      {"weights", gib(worker.weights_gib), {}},           {"activations", gib(worker.activations_gib), {}},
      {"non-torch", gib(worker.non_torch_gib), {}},       {"graphs", gib(worker.graphs_gib), {}},
      {"KV pool", gib(worker.available_gib), {}},         {"tokens", count(answer.log.pool_tokens), {}, true},
      {"blocks", count(answer.log.pool_blocks), {}, true}};
}

/// The model and device of the log, if kvplan knows them.
Result<std::optional<model::ModelShape>> choose(const LogOptions& options, LogAnswer& answer,
                                                io::StartupChoices& choices) {
  std::optional<model::ModelShape> shape;
  const std::string name = !options.model.empty() ? options.model
                           : answer.log.model     ? answer.log.model->value
                                                  : std::string();
  if (!name.empty()) {
    Result<model::ModelShape> opened = io::open_model(name);
    if (!opened.ok() && !options.model.empty()) return std::move(opened).error();
    if (opened.ok()) {
      shape = std::move(opened).value();
      choices.model = name;
    } else {
      answer.missing.push_back("a model that kvplan knows: \"" + name +
                               "\" is not bundled; give its config.json with --model");
    }
  }
  KVPLAN_TRY(choices.device, io::device_text(options.device));
  if (!choices.device.empty()) return shape;
  const startup::WorkerMemory* const worker = answer.log.deciding();
  const auto devices = worker != nullptr && worker->total_gib ? io::devices_of_total(worker->total_gib->value)
                                                              : std::vector<std::string>{};
  if (devices.size() == 1) {
    choices.device = devices.front();
    answer.notes.push_back("The device is taken from its memory (" +
                           report::fixed(worker->total_gib->value, 2) + " GiB): " + devices.front() + ".");
    return shape;
  }
  std::string which = "the device";
  for (std::size_t i = 0; i < devices.size(); ++i)
    which += (i == 0 ? ": its memory is that of " : " or ") + devices[i];
  answer.missing.push_back(which + "; give it with --device");
  return shape;
}

std::string number_text(const Term& term, const std::optional<double>& value) {
  if (!value) return "";
  return term.count ? report::grouped(static_cast<std::int64_t>(*value)) : report::fixed(*value, 2) + " GiB";
}

std::string answer_text(const LogAnswer& answer) {
  const startup::StartupLog& log = answer.log;
  std::string title = log.engine + (log.version ? " " + log.version->value : "");
  if (log.model) title += ", " + log.model->value;
  report::Table table{.title = title, .columns = {"", "logged", "predicted", "difference"}, .rows = {}};
  for (const Term& term : answer.terms) {
    if (!term.logged && !term.predicted) continue;
    std::string difference;
    if (term.logged && term.predicted && *term.logged > 0)
      difference = report::fixed(100 * (*term.predicted / *term.logged - 1), 1) + " %";
    table.rows.push_back({.label = term.name,
                          .cells = {number_text(term, term.logged), number_text(term, term.predicted),
                                    std::move(difference)}});
  }
  std::string out = report::table_text(table, output_width());
  const auto lines = [&](const char* before, const std::vector<std::string>& each) {
    for (const std::string& text : each) out += before + printable(text) + "\n";
  };
  if (log.failure)
    out += "\nThe server did not start (line " + std::to_string(log.failure->line) +
           "): " + printable(log.failure->value) + "\n";
  if (!answer.missing.empty()) out += "\nThe log does not say:\n";
  lines("  ", answer.missing);
  if (!answer.notes.empty() || !log.conflicts.empty()) out += "\n";
  lines("", answer.notes);
  lines("", log.conflicts);
  return out;
}

std::string answer_json(const LogAnswer& answer) {
  const startup::StartupLog& log = answer.log;
  JsonWriter json;
  json.begin_object().member("engine", log.engine);
  const auto text = [&](const char* key, const startup::Maybe<std::string>& value) {
    json.member(key, value ? std::optional(value->value) : std::nullopt);
  };
  const auto whole = [&](const char* key, const startup::Maybe<std::int64_t>& value) {
    json.member(key, value ? std::optional(value->value) : std::nullopt);
  };
  text("version", log.version);
  text("model", log.model);
  text("dtype", log.dtype);
  text("kv_cache_dtype", log.kv_cache_dtype);
  text("quantization", log.quantization);
  whole("tensor_parallel", log.tensor_ranks);
  whole("pipeline_parallel", log.stages);
  whole("data_parallel", log.data_ranks);
  whole("max_model_len", log.max_model_len);
  whole("max_seqs", log.max_seqs);
  whole("token_budget", log.token_budget);
  json.member("memory_share", gib(log.memory_share));
  whole("pool_tokens", log.pool_tokens);
  whole("pool_blocks", log.pool_blocks);
  json.key("terms").begin_array();
  for (const Term& term : answer.terms) {
    json.begin_object().member("name", term.name).member("unit", term.count ? "count" : "GiB");
    json.member("logged", term.logged).member("predicted", term.predicted).end_object();
  }
  json.end_array();
  const auto list = [&](const char* key, const std::vector<std::string>& texts) {
    json.key(key).begin_array();
    for (const std::string& each : texts) json.value(each);
    json.end_array();
  };
  list("missing", answer.missing);
  list("conflicts", log.conflicts);
  list("notes", answer.notes);
  text("failure", log.failure);
  json.member("version_of_kvplan", kVersion).end_object();
  return json.take();
}

Status run_from_log(const LogOptions& options) {
  KVPLAN_TRY_DO(check_apart({options.log}, {options.output, options.json}));
  LogAnswer answer;
  KVPLAN_TRY(answer.log, read_log(options.log));
  answer.missing = answer.log.missing();
  io::StartupChoices choices;
  KVPLAN_TRY(const std::optional<model::ModelShape> shape, choose(options, answer, choices));
  choices.shape = shape ? &*shape : nullptr;
  add_terms(answer);
  add_predictions(choices, answer);
  answer.settings = io::startup_settings(answer.log, choices);
  KVPLAN_TRY_DO(runs::resolve(answer.settings));  // so that a scenario that cannot be read is never written
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

void add_scenario(Command& app, Outcome& outcome) {
  Command* const command =
      app.add_subcommand("scenario", "Scenarios made from a server's log or command line");
  command->require_subcommand();
  auto options = std::make_shared<LogOptions>();
  Command* const from_log =
      command->add_subcommand("from-log",
                              "Read the limits and the KV pool from the start-up log of a vLLM or SGLang "
                              "server, and compare the pool with kvplan's prediction");
  from_log
      ->add_option("LOG", options->log,
                   "Log of vLLM 0.11 or later, or of SGLang 0.5; .gz and .zst are read too")
      ->required();
  from_log->add_option("-o,--output", options->output, "Write a scenario with the pool that the log reports");
  from_log->add_option("--model", options->model,
                       "Model, if kvplan does not know the model name in the log: a name of kvplan list "
                       "model, or the path of a config.json");
  from_log->add_option("--device", options->device, "Device of the server (kvplan list device)");
  add_json_option(*from_log, options->json, "the log's values and the predictions");
  run_as(*from_log, outcome, [options] { return run_from_log(*options); });
  add_from_command(*command, outcome);
}

}  // namespace kvplan::cli
