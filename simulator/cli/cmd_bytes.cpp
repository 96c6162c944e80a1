// kvplan bytes: what the KV cache of one sequence takes, by layer, rank and format.
#include <CLI/CLI.hpp>
#include <memory>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/cell_metadata.h"
#include "simulator/base/json_writer.h"
#include "simulator/cli/command.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/io/model_file.h"
#include "simulator/model/footprint.h"
#include "simulator/model/kv_format.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"

namespace kvplan::cli {
namespace {

using model::CacheKind;
using model::Footprint;
using model::LayerFootprint;
using model::StageFootprint;
using report::grouped;

struct BytesOptions {
  std::string model;
  std::string format{"bf16"};
  std::string policy;
  std::string json;
  std::int64_t tensor_ranks{1};
  std::int64_t stages{1};
  std::int64_t tokens{0};
  std::int64_t block_tokens{16};
};

/// Layers of the fullest rank that are alike, wherever they stand.
struct Group {
  std::int64_t layers{0};
  LayerFootprint each;
};

std::vector<Group> groups_of(const Footprint& all) {
  const StageFootprint& stage = all.stages[all.fullest];
  std::vector<Group> out;
  for (std::int64_t i = stage.first_layer; i < stage.first_layer + stage.layers; ++i) {
    const LayerFootprint& layer = all.layers[static_cast<std::size_t>(i)];
    std::size_t at = 0;
    while (at < out.size() && out[at].each.cache != layer.cache) ++at;
    if (at == out.size()) out.push_back({0, layer});
    ++out[at].layers;
  }
  return out;
}

/// What a policy leaves of a sequence, and keeps beside it.
struct Kept {
  std::optional<std::int64_t> tokens{};  ///< at most, of each layer or head; absent: all
  attention::CellMetadata beside{};
};

/// How many tokens stay, where lengths and parameters say it.
Result<Kept> kept_by(const std::string& text) {
  if (text.empty() || text == "none") return Kept{};
  auto parsed = attention::parse_policy(text);
  if (!parsed.ok()) return bad_input(parsed.error().to_string()).at_field("--policy");
  const attention::PolicyTraits traits = parsed.value().kind->traits(parsed.value().choice);
  Kept kept{.beside = attention::cell_metadata(parsed.value(), traits)};
  if (traits.keeps_everything() || parsed.value().choice.name() == "full") return kept;
  if (traits.interval) {
    kept.tokens = traits.interval->sink + traits.interval->recent;
  } else if (traits.budget) {
    kept.tokens = traits.budget;
  } else {
    return bad_input("expected a policy whose parameters say how many tokens stay; how many \"" +
                     std::string(parsed.value().choice.name()) +
                     "\" keeps depends on attention: `kvplan evict` counts its bytes")
        .at_field("--policy");
  }
  return kept;
}

struct Answer {
  model::ModelShape shape;
  Choice format;
  Footprint all;

  [[nodiscard]] const StageFootprint& rank() const { return all.stages[all.fullest]; }
};

void write_group(JsonWriter& json, const Group& group) {
  const model::LayerCache& cache = group.each.cache;
  json.begin_object().member("layers", group.layers);
  json.member("kind", cache.kind == CacheKind::kHeads ? "heads" : "latent");
  json.member("heads", cache.heads).member("key_size", cache.key_size).member("value_size", cache.value_size);
  json.member("latent_size", cache.latent_size).member("rope_size", cache.rope_size);
  json.member("window", cache.window).member("tokens", group.each.tokens);
  json.member("bytes_per_token", group.layers * group.each.bytes_per_token);
  json.member("bytes", group.layers * group.each.bytes);
  json.member("metadata_bytes", group.layers * group.each.metadata_bytes).end_object();
}

std::string answer_json(const BytesOptions& options, const Answer& answer) {
  const StageFootprint& rank = answer.rank();
  JsonWriter json;
  json.begin_object().member("model", answer.shape.name).member("source", answer.shape.source);
  json.member("format", answer.format.to_string()).key("policy");
  options.policy.empty() ? json.null() : json.value(options.policy);
  json.member("tokens", options.tokens);
  json.member("tensor_parallel", options.tensor_ranks).member("pipeline_parallel", options.stages);
  json.member("bytes_per_token", rank.bytes_per_token).member("total_bytes", rank.bytes);
  json.member("metadata_bytes", rank.metadata_bytes);
  json.member("block_tokens", options.block_tokens);
  json.member("block_bytes", options.block_tokens * rank.bytes_per_token);
  json.member("bytes_per_token_by_heads", answer.shape.unshared_token_bytes());
  json.key("per_layer").begin_array();
  for (std::int64_t i = rank.first_layer; i < rank.first_layer + rank.layers; ++i)
    json.value(answer.all.layers[static_cast<std::size_t>(i)].bytes);
  json.end_array().key("groups").begin_array();
  for (const Group& group : groups_of(answer.all)) write_group(json, group);
  json.end_array().key("stages").begin_array();
  for (const StageFootprint& stage : answer.all.stages) {
    json.begin_object().member("first_layer", stage.first_layer).member("layers", stage.layers);
    json.member("bytes_per_token", stage.bytes_per_token).member("total_bytes", stage.bytes);
    json.member("metadata_bytes", stage.metadata_bytes).end_object();
  }
  json.end_array().key("cluster").begin_object();
  json.member("ranks", options.tensor_ranks * options.stages);
  json.member("bytes_per_token", answer.all.cluster_bytes_per_token);
  json.member("total_bytes", answer.all.cluster_bytes);
  json.member("replicated_bytes", answer.all.replicated_bytes).end_object();
  json.key("warnings").begin_array();
  for (const std::string& warning : answer.all.warnings) json.value(warning);
  json.end_array().key("notes").begin_array();
  for (const std::string& note : answer.shape.notes) json.value(note);
  json.end_array().member("version", KVPLAN_VERSION).end_object();
  return json.take();
}

std::string group_label(const Group& group) {
  const model::LayerCache& c = group.each.cache;
  std::string out = grouped(group.layers) + (group.layers == 1 ? " layer, " : " layers, ");
  out += c.kind == CacheKind::kHeads ? grouped(c.heads) + (c.heads == 1 ? " head of " : " heads of ") +
                                           grouped(c.key_size) + " + " + grouped(c.value_size)
                                     : "latent " + grouped(c.latent_size) + " + " + grouped(c.rope_size);
  return c.window > 0 ? out + ", window " + grouped(c.window) : out;
}

std::string sized(std::int64_t bytes) {
  return grouped(bytes) + " (" + report::bytes_text(static_cast<double>(bytes)) + ")";
}

std::string answer_text(const BytesOptions& options, const Answer& answer) {
  const StageFootprint& rank = answer.rank();
  const bool many = options.tensor_ranks * options.stages > 1;
  report::Table table{
      .title = answer.shape.name + ", " + answer.format.to_string() + ", " + grouped(options.tokens) +
               (options.tokens == 1 ? " token" : " tokens") +
               (many ? ": the fullest of " + grouped(options.tensor_ranks * options.stages) + " ranks"
                     : std::string()),
      .columns = {"bytes a token", "tokens held", "bytes"},
      .rows = {}};
  for (const Group& group : groups_of(answer.all))
    table.rows.push_back({.label = group_label(group),
                          .cells = {grouped(group.layers * group.each.bytes_per_token),
                                    grouped(group.each.tokens), sized(group.layers * group.each.bytes)}});
  table.rows.push_back(
      {.label = "together", .cells = {grouped(rank.bytes_per_token), "", sized(rank.bytes)}});
  if (rank.metadata_bytes > 0)
    table.rows.push_back({.label = "of it metadata", .cells = {"", "", sized(rank.metadata_bytes)}});
  if (many) {
    table.rows.push_back(
        {.label = "all ranks",
         .cells = {grouped(answer.all.cluster_bytes_per_token), "", sized(answer.all.cluster_bytes)}});
    table.rows.push_back(
        {.label = "of it stored again", .cells = {"", "", sized(answer.all.replicated_bytes)}});
  }
  std::string out = report::table_text(table, output_width());
  out += "\nA block of " + grouped(options.block_tokens) + " tokens takes " +
         sized(options.block_tokens * rank.bytes_per_token) + (many ? " on that rank.\n" : ".\n");
  if (options.stages > 1) {
    out += "Layers of the stages:";
    for (const StageFootprint& stage : answer.all.stages) out.append(" ").append(grouped(stage.layers));
    out += "\n";
  }
  if (const auto apart = answer.shape.unshared_token_bytes())
    out += "Kept as keys and values by head, a token would take " + sized(*apart) + " in bf16.\n";
  for (const std::string& note : answer.shape.notes) out += "Note: " + note + "\n";
  return out;
}

Status run_bytes(const BytesOptions& options) {
  if (model::names_model_file(options.model)) KVPLAN_TRY_DO(check_apart({options.model}, {options.json}));
  Answer answer;
  auto shape = io::open_model(options.model);
  if (!shape.ok()) {
    Error error = std::move(shape).error();
    if (error.file.empty()) error.field = "--model";
    return error;
  }
  answer.shape = std::move(shape).value();
  auto format = parse_component(options.format, "format", model::format_descriptors());
  if (!format.ok()) return bad_input(format.error().to_string()).at_field("--format");
  answer.format = std::move(format).value();
  KVPLAN_TRY(const Kept kept, kept_by(options.policy));
  const attention::CellMetadata& beside = kept.beside;
  KVPLAN_TRY(answer.all,
             model::footprint(answer.shape,
                              {.format = answer.format,
                               .tensor_ranks = options.tensor_ranks,
                               .stages = options.stages,
                               .tokens = options.tokens,
                               .kept = kept.tokens,
                               .beside_head_bytes = beside.state + (beside.one_map ? 0 : beside.positions),
                               .beside_layer_bytes = beside.one_map ? beside.positions : 0}));
  print_warnings(answer.all.warnings);
  if (options.json.empty()) return write_text("-", answer_text(options, answer));
  return write_text(options.json, answer_json(options, answer));
}

std::string format_help() {
  std::string out = "Bytes of an element, NAME[:key=value,...] (kvplan list format):";
  for (const Descriptor* format : model::format_descriptors()) out.append(" ").append(format->name);
  return out;
}

}  // namespace

void add_bytes(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<BytesOptions>();
  CLI::App* const command =
      app.add_subcommand("bytes", "KV bytes of one sequence: by layer, rank, format, window and policy");
  command
      ->add_option("--model", options->model,
                   "Name of a model (kvplan list model), or path of a Hugging Face config.json")
      ->required();
  command->add_option("--format", options->format, format_help())->capture_default_str();
  add_whole_number(*command, "--tokens", options->tokens, {0, std::int64_t{1} << 40},
                   "Tokens of the sequence")
      ->required()
      ->default_str("");
  add_whole_number(*command, "--tp", options->tensor_ranks, {1, model::kMostRanks},
                   "Tensor-parallel ranks; figures are of one rank");
  add_whole_number(*command, "--pp", options->stages, {1, 4096},
                   "Pipeline stages; figures are of the fullest one");
  add_whole_number(*command, "--block-tokens", options->block_tokens, {1, std::int64_t{1} << 20},
                   "Tokens of the block whose bytes are told");
  command->add_option(
      "--policy", options->policy,
      "What stays, as NAME[:key=value,...], where parameters say how much: kvplan list eviction");
  add_json_option(*command, options->json, "the result");
  run_as(*command, outcome, [options] { return run_bytes(*options); });
}

}  // namespace kvplan::cli
