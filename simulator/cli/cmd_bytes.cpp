// kvplan bytes: what the KV cache of one sequence takes, by layer, rank and format.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "simulator/base/json_writer.h"
#include "simulator/base/suggest.h"
#include "simulator/cli/codec_bytes.h"
#include "simulator/cli/command.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/formats/region_names.h"
#include "simulator/io/model_file.h"
#include "simulator/io/side_file.h"
#include "simulator/model/footprint.h"
#include "simulator/model/kv_format.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"
#include "simulator/scenario/run_format.h"

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
  std::string window_format;  ///< empty: layers with a window have the same format as the others
  std::string policy;
  std::string json;
  std::int64_t tensor_ranks{1};
  std::int64_t stages{1};
  std::int64_t tokens{0};
  std::int64_t prompt{-1};  ///< -1: all tokens
  std::int64_t block_tokens{16};

  [[nodiscard]] std::int64_t prompt_tokens() const { return prompt < 0 ? tokens : prompt; }
  [[nodiscard]] KeptOf kept_of(const model::ModelShape& shape) const {
    return {.prompt = prompt_tokens(), .tokens = tokens, .layers = shape.layers};
  }
};

/// Layers of the fullest rank with equal bytes, wherever they are.
struct Group {
  std::int64_t layers{0};
  LayerFootprint each;
};

bool alike(const LayerFootprint& a, const LayerFootprint& b) {
  return a.cache == b.cache && a.tokens == b.tokens && a.bytes == b.bytes;
}

std::vector<Group> groups_of(const Footprint& all) {
  const StageFootprint& stage = all.stages[all.fullest];
  std::vector<Group> out;
  for (std::int64_t i = stage.first_layer; i < stage.first_layer + stage.layers; ++i) {
    const LayerFootprint& layer = all.layers[static_cast<std::size_t>(i)];
    std::size_t at = 0;
    while (at < out.size() && !alike(out[at].each, layer)) ++at;
    if (at == out.size()) out.push_back({0, layer});
    ++out[at].layers;
  }
  return out;
}

struct Answer {
  model::ModelShape shape;
  Choice format;
  std::optional<Choice> window_format{};
  Footprint all;
  /// For the fullest stage, if the format is a codec, or layers with a window have their own format.
  std::optional<CodecSum> codec{};

  [[nodiscard]] const StageFootprint& rank() const { return all.stages[all.fullest]; }
  /// Mean bytes of a stored token in layers [first, first + layers), if a codec's tokens take different bytes.
  [[nodiscard]] double mean_token_bytes(std::int64_t first, std::int64_t layers) const {
    std::map<std::int64_t, std::int64_t> bytes;  // by number of stored tokens; rounded only at the end
    for (std::int64_t i = first; i < first + layers; ++i) {
      const LayerFootprint& layer = all.layers[static_cast<std::size_t>(i)];
      bytes[layer.tokens] += layer.bytes;
    }
    double out = 0;
    for (const auto& [tokens, together] : bytes)
      if (tokens > 0) out += static_cast<double>(together) / static_cast<double>(tokens);
    return out;
  }
  [[nodiscard]] double mean_token_bytes(const StageFootprint& stage) const {
    return mean_token_bytes(stage.first_layer, stage.layers);
  }
  [[nodiscard]] double mean_token_bytes(const Group& group) const {
    if (group.each.tokens == 0) return 0;
    return static_cast<double>(group.layers * group.each.bytes) / static_cast<double>(group.each.tokens);
  }
};

/// A whole number, or the mean if a codec's tokens take different bytes.
template <class Of>
void write_token_bytes(JsonWriter& json, const Answer& answer, std::int64_t bytes, const Of& of) {
  json.key("bytes_per_token");
  answer.codec ? json.value(answer.mean_token_bytes(of)) : json.value(bytes);
}

void write_codec(JsonWriter& json, const BytesOptions& options, const CodecSum& sum) {
  json.member("prompt_tokens", options.prompt_tokens());
  json.member("generated_tokens", options.tokens - options.prompt_tokens());
  json.key("regions").begin_object();
  for (const formats::Side side : formats::kSides) {
    json.key(formats::side_letter(side)).begin_object();
    for (const formats::NamedRegion& region : formats::kRegions)
      json.member(region.name, sum.bytes.of(side).*region.bytes);
    json.end_object();
  }
  json.end_object().member("policy_bytes", sum.beside_bytes).key("metadata").begin_array();
  for (const formats::NamedRegion& region : formats::kRegions)
    if (region.metadata) json.value(region.name);
  json.value("policy_bytes").end_array();
}

std::string_view kind_name(CacheKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"heads", "latent", "none"};
  return kNames[static_cast<std::size_t>(kind)];
}

void write_group(JsonWriter& json, const Answer& answer, const Group& group) {
  const model::LayerCache& cache = group.each.cache;
  json.begin_object().member("layers", group.layers);
  json.member("kind", kind_name(cache.kind));
  json.member("heads", cache.heads).member("key_size", cache.key_size).member("value_size", cache.value_size);
  json.member("latent_size", cache.latent_size).member("rope_size", cache.rope_size);
  json.member("window", cache.window).member("chunked", cache.chunked);
  json.member("compress_ratio", cache.compress_ratio).member("indexer_bytes", cache.indexer_bytes);
  json.member("state_bytes", cache.state_bytes).member("tokens", group.each.tokens);
  write_token_bytes(json, answer, group.layers * group.each.bytes_per_token, group);
  json.member("bytes", group.layers * group.each.bytes);
  json.member("metadata_bytes", group.layers * group.each.metadata_bytes).end_object();
}

std::string answer_json(const BytesOptions& options, const Answer& answer) {
  const StageFootprint& rank = answer.rank();
  JsonWriter json;
  json.begin_object().member("model", answer.shape.name).member("source", answer.shape.source);
  json.member("format", answer.format.to_string());
  if (answer.window_format) json.member("window_format", answer.window_format->to_string());
  json.key("policy");
  options.policy.empty() ? json.null() : json.value(options.policy);
  json.member("tokens", options.tokens);
  json.member("tensor_parallel", options.tensor_ranks).member("pipeline_parallel", options.stages);
  write_token_bytes(json, answer, rank.bytes_per_token, rank);
  json.member("total_bytes", rank.bytes).member("metadata_bytes", rank.metadata_bytes);
  if (answer.codec) write_codec(json, options, *answer.codec);
  json.member("block_tokens", options.block_tokens).key("block_bytes");
  answer.codec ? json.null() : json.value(options.block_tokens * rank.bytes_per_token);
  json.member("bytes_per_token_by_heads", answer.shape.unshared_token_bytes());
  json.key("per_layer").begin_array();
  for (std::int64_t i = rank.first_layer; i < rank.first_layer + rank.layers; ++i)
    json.value(answer.all.layers[static_cast<std::size_t>(i)].bytes);
  json.end_array().key("groups").begin_array();
  for (const Group& group : groups_of(answer.all)) write_group(json, answer, group);
  json.end_array().key("stages").begin_array();
  for (const StageFootprint& stage : answer.all.stages) {
    json.begin_object().member("first_layer", stage.first_layer).member("layers", stage.layers);
    write_token_bytes(json, answer, stage.bytes_per_token, stage);
    json.member("total_bytes", stage.bytes).member("metadata_bytes", stage.metadata_bytes).end_object();
  }
  json.end_array().key("cluster").begin_object();
  json.member("ranks", options.tensor_ranks * options.stages);
  json.key("bytes_per_token");
  answer.codec ? json.value(static_cast<double>(options.tensor_ranks) *
                            answer.mean_token_bytes(0, answer.shape.layers))
               : json.value(answer.all.cluster_bytes_per_token);
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
  switch (c.kind) {
    case CacheKind::kHeads:
      out += grouped(c.heads) + (c.heads == 1 ? " head of " : " heads of ") + grouped(c.key_size) + " + " +
             grouped(c.value_size);
      break;
    case CacheKind::kLatent:
      out += "latent " + grouped(c.latent_size) + " + " + grouped(c.rope_size);
      break;
    case CacheKind::kNone:
      out += c.state_bytes > 0 ? "a state of " + grouped(c.state_bytes) + " bytes" : "no cache";
      return out;
  }
  if (c.window > 0) out += (c.chunked ? ", chunks of " : ", window ") + grouped(c.window);
  if (c.compress_ratio > 0) out += ", one more for " + grouped(c.compress_ratio) + " tokens";
  if (c.indexer_bytes > 0) out += ", indexer " + grouped(c.indexer_bytes);
  return c.state_bytes > 0 ? out + ", a state of " + grouped(c.state_bytes) + " bytes" : out;
}

std::string sized(std::int64_t bytes) {
  return grouped(bytes) + " (" + report::bytes_text(static_cast<double>(bytes)) + ")";
}

std::string mean_text(double bytes) {
  return bytes == std::floor(bytes) ? report::fixed(bytes, 0) : report::fixed(bytes, 2);
}

/// What the bytes of a codec hold.
std::string regions_text(const CodecSum& sum) {
  report::Table table{.title = "Bytes by layer", .columns = {"keys", "values", ""}, .rows = {}};
  for (const formats::NamedRegion& region : formats::kRegions) {
    const std::int64_t keys = sum.bytes.keys.*region.bytes;
    const std::int64_t values = sum.bytes.values.*region.bytes;
    if (keys + values > 0)
      table.rows.push_back(
          {.label = region.name, .cells = {sized(keys), sized(values), region.metadata ? "metadata" : ""}});
  }
  if (sum.beside_bytes > 0)
    table.rows.push_back({.label = "of the policy", .cells = {sized(sum.beside_bytes), "", "metadata"}});
  return report::table_text(table, output_width());
}

std::string answer_text(const BytesOptions& options, const Answer& answer) {
  const StageFootprint& rank = answer.rank();
  const bool many = options.tensor_ranks * options.stages > 1;
  const std::int64_t generated = options.tokens - options.prompt_tokens();
  const auto a_token = [&](std::int64_t bytes, const auto& of) {
    return answer.codec ? mean_text(answer.mean_token_bytes(of)) : grouped(bytes);
  };
  report::Table table{
      .title = answer.shape.name + ", " + answer.format.to_string() +
               (answer.window_format ? ", windows in " + answer.window_format->to_string() : std::string()) +
               ", " + grouped(options.tokens) + (options.tokens == 1 ? " token" : " tokens") +
               (generated > 0 && answer.codec ? " (" + grouped(generated) + " of them generated)"
                                              : std::string()) +
               (many ? ": the one with the most bytes of " + grouped(options.tensor_ranks * options.stages) +
                           " ranks"
                     : std::string()),
      .columns = {"bytes per token", "tokens held", "bytes"},
      .rows = {}};
  for (const Group& group : groups_of(answer.all))
    table.rows.push_back({.label = group_label(group),
                          .cells = {a_token(group.layers * group.each.bytes_per_token, group),
                                    grouped(group.each.tokens), sized(group.layers * group.each.bytes)}});
  table.rows.push_back(
      {.label = "together", .cells = {a_token(rank.bytes_per_token, rank), "", sized(rank.bytes)}});
  if (rank.metadata_bytes > 0)
    table.rows.push_back({.label = "of which metadata", .cells = {"", "", sized(rank.metadata_bytes)}});
  if (many) {
    table.rows.push_back({.label = "all ranks",
                          .cells = {answer.codec ? "" : grouped(answer.all.cluster_bytes_per_token), "",
                                    sized(answer.all.cluster_bytes)}});
    table.rows.push_back(
        {.label = "of which replicated", .cells = {"", "", sized(answer.all.replicated_bytes)}});
  }
  std::string out = report::table_text(table, output_width());
  if (answer.codec) out += "\n" + regions_text(*answer.codec);
  if (!answer.codec)
    out += "\nA block of " + grouped(options.block_tokens) + " tokens takes " +
           sized(options.block_tokens * rank.bytes_per_token) + (many ? " on that rank.\n" : ".\n");
  if (options.stages > 1) {
    out += "Layers of the stages:";
    for (const StageFootprint& stage : answer.all.stages) out.append(" ").append(grouped(stage.layers));
    out += "\n";
  }
  if (const auto apart = answer.shape.unshared_token_bytes())
    out += "Stored as separate keys and values of each head, a token would take " + sized(*apart) +
           " in bf16.\n";
  for (const std::string& note : answer.shape.notes) out += "Note: " + note + "\n";
  return out;
}

/// Names of both families of formats; a name that is in both means the one in the family "format".
const std::vector<const Descriptor*>& all_formats() {
  static const std::vector<const Descriptor*> kAll = [] {
    const Catalogue elements = model::format_descriptors();
    std::vector<const Descriptor*> out(elements.begin(), elements.end());
    for (const Descriptor* codec : formats::format_descriptors())
      if (std::none_of(elements.begin(), elements.end(),
                       [&](const Descriptor* d) { return d->name == codec->name; }))
        out.push_back(codec);
    return out;
  }();
  return kAll;
}

/// Counts a format with a number of bits per element.
Status count_elements(const BytesOptions& options, Answer& answer) {
  KVPLAN_TRY(const KeptTokens kept, kept_by(options.policy, options.kept_of(answer.shape)));
  if (kept.counts.size() > 1)
    return bad_input(
               "keeps a different number of tokens in each layer: expected a format of family codec (full: 2 "
               "bytes per element)")
        .at_field("--policy");
  const attention::CellMetadata& beside = kept.beside;
  model::FootprintRequest request{.format = answer.format,
                                  .tensor_ranks = options.tensor_ranks,
                                  .stages = options.stages,
                                  .tokens = options.tokens,
                                  .beside_head_bytes = beside.state + (beside.one_map ? 0 : beside.positions),
                                  .beside_layer_bytes = beside.one_map ? beside.positions : 0};
  if (!kept.counts.empty()) request.kept = kept.counts.front().of(options.tokens, options.prompt_tokens());
  KVPLAN_TRY(answer.all, model::footprint(answer.shape, request));
  return Done{};
}

/// Reads the codec's side file into the storage.
Status read_side(LayerStorage& storage, const BytesOptions& options, std::string_view option,
                 Answer& answer) {
  if (!storage.codec) return Done{};
  KVPLAN_TRY_DO(check_apart(storage.codec->choice.files(), {options.json}));
  const Status read = io::read_side_file(*storage.codec);
  if (!read.ok()) return bad_input(read.error().to_string()).at_field(option);
  KVPLAN_TRY_DO(runs::check_side_file(*storage.codec, answer.shape, options.tensor_ranks));
  if (const std::string_view assumed = formats::assumed(*storage.codec); !assumed.empty())
    answer.shape.notes.emplace_back(assumed);
  return Done{};
}

/// Counts layer by layer: for a codec, or if layers with a window have their own format.
Status count_by_layer(const BytesOptions& options, CodecRequest request, Answer& answer) {
  KVPLAN_TRY_DO(read_side(request.format, options, "--format", answer));
  if (request.of_windows) KVPLAN_TRY_DO(read_side(*request.of_windows, options, "--window-format", answer));
  if (options.prompt_tokens() < 1)
    return bad_input("expected at least 1: formats of family codec need a prompt token")
        .at_field(options.prompt < 0 ? "--tokens" : "--prompt");
  KVPLAN_TRY(request.kept, kept_by(options.policy, options.kept_of(answer.shape)));
  request.prompt = options.prompt_tokens();
  request.generated = options.tokens - options.prompt_tokens();
  request.layers = answer.shape.layers;
  request.element_bytes = answer.shape.element_bytes;
  const auto held = [&](const model::LayerCache& cache, std::int64_t number) -> Result<model::HeldBytes> {
    KVPLAN_TRY(const CodecLayer layer, codec_layer(request, cache, number));
    return model::HeldBytes{.tokens = layer.tokens,
                            .bytes = layer.bytes.total() + layer.beside_bytes,
                            .metadata_bytes = layer.metadata_bytes()};
  };
  KVPLAN_TRY(answer.all, model::footprint(answer.shape, {.tensor_ranks = options.tensor_ranks,
                                                         .stages = options.stages,
                                                         .tokens = options.tokens,
                                                         .held = held}));
  if (request.format.codec)
    for (const StageFootprint& stage : answer.all.stages)
      KVPLAN_TRY_DO(
          runs::check_layers_together(*request.format.codec, answer.shape, stage.first_layer, stage.layers));
  const StageFootprint& rank = answer.rank();
  answer.codec.emplace();
  for (std::int64_t i = rank.first_layer; i < rank.first_layer + rank.layers; ++i) {
    KVPLAN_TRY(const CodecLayer layer,
               codec_layer(request, answer.all.layers[static_cast<std::size_t>(i)].cache, i));
    add(*answer.codec, layer);
  }
  return Done{};
}

/// Names of the family "format" are counted by it; any other name is a codec.
Result<LayerStorage> storage_of(const std::string& text, std::string_view option) {
  const Catalogue elements = model::format_descriptors();
  auto format = parse_component(text, "format", elements);
  if (format.ok()) return LayerStorage{.elements = std::move(format).value()};
  auto codec = formats::parse_format(text);
  if (codec.ok()) return LayerStorage{.codec = std::move(codec).value()};
  const std::string name = text.substr(0, text.find(':'));
  const auto names = [&](Catalogue family) {
    return std::any_of(family.begin(), family.end(), [&](const Descriptor* d) { return d->name == name; });
  };
  const Catalogue codecs = formats::format_descriptors();
  if (names(elements)) return bad_input(format.error().to_string()).at_field(option);
  if (names(codecs)) return bad_input(codec.error().to_string()).at_field(option);
  std::vector<std::string_view> known;
  for (const Descriptor* d : all_formats()) known.push_back(d->name);
  return bad_input(bad_input(unknown_name("format", name, known)).at_field(name).to_string())
      .at_field(option);
}

Status count(const BytesOptions& options, Answer& answer) {
  KVPLAN_TRY(LayerStorage format, storage_of(options.format, "--format"));
  answer.format = format.choice();
  CodecRequest request{.format = std::move(format), .kept = {}};
  if (!options.window_format.empty()) {
    KVPLAN_TRY(request.of_windows, storage_of(options.window_format, "--window-format"));
    answer.window_format = request.of_windows->choice();
    if (answer.shape.window_layers() == 0)
      return bad_input("expected a model with sliding-window layers; " + answer.shape.name + " has none")
          .at_field("--window-format");
    for (const LayerStorage* each : {&request.format, &*request.of_windows})
      if (each->codec && each->codec->kind->other_layers != nullptr)
        return bad_input(
                   std::string(each->choice().name()) +
                   " stores several layers jointly: expected a format that stores each layer separately")
            .at_field(each == &request.format ? "--format" : "--window-format");
  } else if (request.format.elements) {
    return count_elements(options, answer);
  }
  return count_by_layer(options, std::move(request), answer);
}

Status run_bytes(const BytesOptions& options) {
  if (model::names_model_file(options.model)) KVPLAN_TRY_DO(check_apart({options.model}, {options.json}));
  if (options.prompt > options.tokens)
    return bad_input("expected at most --tokens (" + std::to_string(options.tokens) + "), found " +
                     std::to_string(options.prompt))
        .at_field("--prompt");
  Answer answer;
  auto shape = io::open_model(options.model);
  if (!shape.ok()) {
    Error error = std::move(shape).error();
    if (error.file.empty()) error.field = "--model";
    return error;
  }
  answer.shape = std::move(shape).value();
  KVPLAN_TRY_DO(count(options, answer));
  print_warnings(answer.all.warnings);
  if (options.json.empty()) return write_text("-", answer_text(options, answer));
  return write_text(options.json, answer_json(options, answer));
}

std::string format_help() {
  std::string out =
      "Format of the cache: bytes per element, or a codec, as NAME[:key=value,...] (kvplan list format, "
      "codec):";
  for (const Descriptor* format : all_formats()) out.append(" ").append(format->name);
  return out;
}

}  // namespace

void add_bytes(Command& app, Outcome& outcome) {
  auto options = std::make_shared<BytesOptions>();
  Command* const command = app.add_subcommand(
      "bytes",
      "KV-cache bytes of one sequence, by layer and rank, for a format, a window format and a token policy");
  command
      ->add_option("--model", options->model,
                   "Name of a model (kvplan list model), or path of a Hugging Face config.json")
      ->required();
  command->add_option("--format", options->format, format_help())->capture_default_str();
  command->add_option("--window-format", options->window_format,
                      "Format of the layers with a sliding window, which keep the tokens of their window "
                      "whatever --policy evicts elsewhere");
  add_whole_number(*command, "--tokens", options->tokens, {0, std::int64_t{1} << 40},
                   "Tokens of the sequence")
      ->required()
      ->default_str("");
  add_whole_number(*command, "--prompt", {0, std::int64_t{1} << 40},
                   "Tokens of the sequence that came as the prompt; the others were generated one by one",
                   "all", [options](std::int64_t value) { options->prompt = value; });
  add_whole_number(*command, "--tp", options->tensor_ranks, {1, model::kMostRanks},
                   "Tensor-parallel ranks; the figures are for one rank");
  add_whole_number(*command, "--pp", options->stages, {1, 4096},
                   "Pipeline stages; the figures are for the stage with the most bytes");
  add_whole_number(*command, "--block-tokens", options->block_tokens, {1, std::int64_t{1} << 20},
                   "Tokens per block, for the bytes of one block");
  command->add_option("--policy", options->policy,
                      "Token policy as NAME[:key=value,...] (kvplan list eviction). Its parameters alone "
                      "must determine how many tokens stay");
  add_json_option(*command, options->json, "the result");
  run_as(*command, outcome, [options] { return run_bytes(*options); });
}

}  // namespace kvplan::cli
