// kvplan pool: the KV pool that fits on a device beside a model, item by item, without a run.
#include <memory>
#include <utility>

#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/cli/command.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/deployment/deployment.h"
#include "simulator/io/device_file.h"
#include "simulator/io/model_file.h"
#include "simulator/io/side_file.h"
#include "simulator/model/footprint.h"
#include "simulator/report/content.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"
#include "simulator/results/report.h"
#include "simulator/scenario/scenario_files.h"

namespace kvplan::cli {
namespace {

using report::grouped;

struct PoolOptions {
  std::string model, device, format, json;
  std::vector<std::string> sets;
  std::int64_t tensor_ranks{1}, stages{1};
  std::int64_t block_tokens{0};  ///< 0: the allocator's own number
};

struct Answer {
  runs::Scenario scenario;
  runs::ModelOnRanks placed;
  runs::PoolLayout laid_out;

  [[nodiscard]] const model::Pool& pool() const { return *placed.pool; }
  [[nodiscard]] const core::MemoryLayout& layout() const { return laid_out.layout; }
  [[nodiscard]] std::int64_t max_model_len() const { return scenario.engine_traits().request_tokens.value; }
  /// True if the pool has blocks, false if it is one range of slots.
  [[nodiscard]] bool has_blocks() const { return layout().returns_alloc_units(); }
  /// The concurrency as engines print it: blocks of the pool over the blocks of a request of max_model_len tokens.
  [[nodiscard]] std::optional<double> concurrency() const {
    if (!laid_out.longest_alloc_units) return std::nullopt;
    return static_cast<double>(laid_out.all_alloc_units()) /
           static_cast<double>(*laid_out.longest_alloc_units);
  }
};

std::string answer_json(const Answer& answer, const std::vector<std::string>& warnings) {
  const runs::Scenario& s = answer.scenario;
  const runs::RankBytes& bytes = answer.placed.bytes;
  const model::Pool& pool = answer.pool();
  JsonWriter json;
  json.begin_object().member("model", s.text("model")).member("device", s.deployment.device->name);
  json.member("pool_rule", s.text("deployment.pool_rule")).member("format", s.text("format"));
  json.member("tensor_parallel", bytes.tensor_ranks).member("pipeline_parallel", bytes.stages);
  json.member("pool_bytes", pool.rank().pool_bytes).member("pool_bytes_low", pool.rank().low_bytes);
  json.member("pool_bytes_high", pool.rank().high_bytes).member("token_bytes", bytes.token_bytes);
  json.member("all_token_bytes", bytes.all_token_bytes);
  json.member("replicated_token_bytes", bytes.replicated_token_bytes);
  const core::MemoryLayout& layout = answer.layout();
  const auto of_blocks = [&](std::int64_t number) {
    return answer.has_blocks() ? std::optional(number) : std::nullopt;
  };
  json.member("allocator", s.text("memory.allocator"));
  json.member("block_tokens", of_blocks(layout.alloc_unit_tokens));
  json.member("block_bytes", of_blocks(layout.alloc_unit_bytes()));
  json.member("layer_groups", static_cast<std::int64_t>(layout.groups.size()));
  if (layout.states.blocks > 0) json.member("state_groups", layout.states.blocks);
  json.member("blocks", of_blocks(answer.laid_out.all_alloc_units()))
      .member("usable_blocks", of_blocks(layout.alloc_units));
  json.member("tokens", answer.laid_out.tokens()).member("max_model_len", answer.max_model_len());
  json.member("longest_request_blocks",
              answer.has_blocks() ? answer.laid_out.longest_alloc_units : std::nullopt);
  json.member("concurrency", answer.concurrency());
  json.key("derivation").begin_array();
  for (const model::PoolItem& item : pool.items) {
    json.begin_object().member("name", item.name).member("part", model::pool_part_name(item.part));
    json.member("bytes", item.bytes).member("low", item.low).member("high", item.high);
    json.member("mark", model::mark_name(item.mark)).member("source", item.source).end_object();
  }
  json.end_array().member("stage", static_cast<std::int64_t>(pool.deciding)).key("stages").begin_array();
  for (const model::StagePool& stage : pool.stages) {
    json.begin_object().member("first_layer", stage.first_layer).member("layers", stage.layers);
    json.member("weights_bytes", stage.weights_bytes).member("bytes_per_token", stage.bytes_per_token);
    json.member("pool_bytes", stage.pool_bytes).member("pool_bytes_low", stage.low_bytes);
    json.member("pool_bytes_high", stage.high_bytes).end_object();
  }
  json.end_array().key("warnings").begin_array();
  for (const std::string& warning : warnings) json.value(warning);
  json.end_array().member("version", kVersion).key("obstacles").begin_array();
  for (const model::Obstacle& each : answer.placed.obstacles) runs::write_obstacle(json, each);
  json.end_array().end_object();
  return json.take();
}

void add_blocks(const Answer& answer, report::Table& fits) {
  const core::MemoryLayout& layout = answer.layout();
  const auto add = [&](const char* label, std::int64_t number) {
    fits.rows.push_back({.label = label, .cells = {grouped(number)}});
  };
  add("tokens in a block", layout.alloc_unit_tokens);
  if (!layout.groups.empty()) {
    add("groups of layers", static_cast<std::int64_t>(layout.groups.size()));
    if (layout.states.blocks > 0) add("groups with states", layout.states.blocks);
    add("layers in a group", layout.cells_per_token);
  }
  add("bytes of a block", layout.alloc_unit_bytes());
  add("blocks", answer.laid_out.all_alloc_units());
  if (layout.null_block) add("without the null block", layout.alloc_units);
}

std::string answer_text(const Answer& answer) {
  const runs::Scenario& s = answer.scenario;
  const runs::RankBytes& bytes = answer.placed.bytes;
  const model::Pool& pool = answer.pool();
  std::string title = s.text("model") + " on " + s.deployment.device->title;
  if (bytes.ranks() > 1)
    title += ", one of " + grouped(bytes.ranks()) + " ranks" +
             (bytes.stages > 1 ? " (stage " + std::to_string(bytes.stage) + ")" : std::string());
  std::string out = report::table_text(report::derivation_table(pool.items, title), output_width());
  const auto row = [](const char* label, std::string cell) {
    return report::Row{.label = label, .cells = {std::move(cell)}};
  };
  report::Table fits{.title = "What fits", .columns = {""}, .rows = {}};
  fits.rows.push_back(row("bytes per token", grouped(bytes.token_bytes)));
  if (bytes.ranks() > 1) {
    fits.rows.push_back(row("on all ranks", grouped(bytes.all_token_bytes)));
    fits.rows.push_back(row("of which replicated", grouped(bytes.replicated_token_bytes)));
  }
  if (answer.has_blocks()) add_blocks(answer, fits);
  fits.rows.push_back(row(answer.layout().groups.empty()       ? "tokens"
                          : answer.layout().states.blocks == 0 ? "tokens, without windows"
                                                               : "tokens, as vLLM reports them",
                          grouped(answer.laid_out.tokens())));
  if (const auto concurrency = answer.concurrency())
    fits.rows.push_back(
        row(("requests of " + grouped(answer.max_model_len())).c_str(), report::fixed(*concurrency, 2)));
  return out + "\n" + report::table_text(fits, output_width());
}

Result<runs::Scenario> scenario_of(const PoolOptions& options) {
  std::vector<runs::Setting> settings;
  const auto set = [&](const char* path, std::string text) {
    settings.push_back({path, std::move(text), {}, 0});
  };
  if (!options.model.empty()) set("model", options.model);
  set("deployment.device", options.device);
  set("deployment.tp", std::to_string(options.tensor_ranks));
  set("deployment.pp", std::to_string(options.stages));
  if (!options.format.empty()) set("format", options.format);
  for (const std::string& text : options.sets) {
    KVPLAN_TRY(runs::Setting setting, runs::parse_setting(text));
    settings.push_back(std::move(setting));
  }
  KVPLAN_TRY_DO(io::read_devices(settings));
  if (options.block_tokens == 0) return runs::resolve(settings);
  constexpr const char* kBlock = "memory.allocator.block_tokens";
  KVPLAN_TRY(const runs::Scenario without, runs::resolve(settings));
  const auto fields = runs::scenario_fields();
  const auto allocator =
      std::find_if(fields.begin(), fields.end(), [](const auto& f) { return f.path == "memory.allocator"; });
  const auto place = static_cast<std::size_t>(allocator - fields.begin());
  if (without.param_origin(place, "block_tokens") == runs::Origin::kGiven)
    return bad_input("expected either --block-tokens or block_tokens of the allocator, found both")
        .at_field(kBlock);
  set(kBlock, std::to_string(options.block_tokens));
  return runs::resolve(settings);
}

Status run_pool(const PoolOptions& options) {
  Answer answer;
  KVPLAN_TRY(answer.scenario, scenario_of(options));
  if (!answer.scenario.derives_pool)
    return bad_input("expected no pool size: this command computes it").at_field("memory");
  KVPLAN_TRY_DO(check_apart(runs::files_of(answer.scenario), {options.json}));
  KVPLAN_TRY(const model::ModelShape shape, io::open_model(answer.scenario.text("model")));
  KVPLAN_TRY(answer.scenario, runs::with_length_of(shape, std::move(answer.scenario)));
  const runs::Scenario& s = answer.scenario;
  std::vector<std::string> warnings, assumptions;
  KVPLAN_TRY(answer.placed, runs::place_model(s, shape, io::open_side_file, warnings, assumptions));
  KVPLAN_TRY(answer.laid_out, runs::lay_out_pool(s, shape, answer.placed));
  print_warnings(warnings);
  if (options.json.empty()) return write_text("-", answer_text(answer));
  return write_text(options.json, answer_json(answer, warnings));
}

}  // namespace

void add_pool(Command& app, Outcome& outcome) {
  auto options = std::make_shared<PoolOptions>();
  Command* const command =
      app.add_subcommand("pool", "KV-cache pool that fits on a device beside the model, item by item");
  command->add_option("--model", options->model,
                      "Name of a model (kvplan list model), or path of a Hugging Face config.json");
  command
      ->add_option("--device", options->device,
                   "Name of a device (kvplan list device), a file, or the device's figures: "
                   "total_bytes=25250627584,bandwidth=1008e9,bf16_flops=165e12")
      ->required();
  add_whole_number(*command, "--tp", options->tensor_ranks, {1, model::kMostRanks}, "Tensor-parallel ranks");
  add_whole_number(*command, "--pp", options->stages, {1, 4096}, "Pipeline stages");
  command->add_option("--format", options->format, "Format of the cache (kvplan list format)");
  add_whole_number(*command, "--block-tokens", options->block_tokens, {1, 65536},
                   "Tokens per block, for an allocator with blocks. Default: the allocator's");
  command->add_option("--set", options->sets,
                      "PATH=VALUE of a scenario: deployment.weight_bits=8, engine.max_model_len=8192, ...");
  add_json_option(*command, options->json, "the result");
  run_as(*command, outcome, [options] { return run_pool(*options); });
}

}  // namespace kvplan::cli
