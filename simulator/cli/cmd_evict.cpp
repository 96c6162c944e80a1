// kvplan evict: what a token policy keeps of recorded attention.
#include <memory>
#include <utility>

#include "simulator/attention/overlap.h"
#include "simulator/cli/command.h"
#include "simulator/cli/format_input.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/policy_input.h"
#include "simulator/cli/recording_input.h"
#include "simulator/report/evict_output.h"
#include "simulator/report/format_output.h"

namespace kvplan::cli {
namespace {

using attention::EvaluationSummary;
using attention::LayerReplay;

/// A policy, and the sequence and layers for which it is evaluated.
struct Asked {
  PolicyInput input;
  std::shared_ptr<const attention::Recording> recording;
  std::int32_t group{1};
  std::optional<formats::FormatChoice> format{};  ///< of the kept tokens
};

Result<Asked> asked(const report::EvictOptions& options) {
  Asked out;
  KVPLAN_TRY(out.input, parse_policy_input(options.policy, "--policy", options.budget));
  if (!options.format.empty()) {
    KVPLAN_TRY(out.format, read_format_input(options.format));
  }
  for (const std::vector<std::string>& inputs :
       {std::vector{options.input}, out.input.policy.choice.files(),
        out.input.budget ? out.input.budget->files() : std::vector<std::string>{},
        out.format ? out.format->choice.files() : std::vector<std::string>{}})
    KVPLAN_TRY_DO(check_apart(inputs, {options.json}));
  KVPLAN_TRY(out.recording, open_recording(options.input));
  KVPLAN_TRY_DO(read_policy_input(out.input, *out.recording, options.sequence, options.prefill));
  KVPLAN_TRY(out.group, attention::group_of(out.input.policy, out.recording->info()));
  return out;
}

/// Evaluates one layer; writes `after_prefill` and `steps` if JSON is wanted.
Result<EvaluationSummary> evaluate_layer(const Asked& asked, const report::EvictOptions& options,
                                         std::int32_t layer, JsonWriter* json) {
  KVPLAN_TRY(const auto policy, policy_at(asked.input, *asked.recording, layer, options.prefill));
  bool in_steps = false;
  attention::Overlap overlap;
  double shares = 0;
  std::int64_t samples = 0;
  const attention::LayerRun run{
      .prompt = options.prefill, .sequence = options.sequence, .layer = layer, .stop_asked = interrupted};
  const auto each_step = [&](std::span<const LayerReplay> replays,
                             const attention::LayerRows& rows) -> Status {
    if (interrupted()) return interrupted_error();
    const LayerReplay& replay = replays.front();
    std::span<const double> of_heads;
    if (options.overlap && in_steps) of_heads = overlap.of(replay, rows);
    for (const double share : of_heads) shares += share;
    samples += std::ssize(of_heads);
    if (json != nullptr && in_steps) report::write_step(*json, replay, of_heads);
    if (json != nullptr && !in_steps) {
      report::write_sets(*json, "after_prefill", replay);
      json->key("steps").begin_array();
    }
    in_steps = true;
    return Done{};
  };
  KVPLAN_TRY(auto summaries,
             attention::evaluate_together(*asked.recording, run, std::span(&policy, 1), each_step));
  if (json != nullptr) json->end_array();
  EvaluationSummary& summary = summaries.front();
  if (samples > 0) summary.mean_overlap = shares / static_cast<double>(samples);
  return std::move(summary);
}

/// Stores the same tokens in the requested format: its bytes, and the errors of policy and format together. Writes
/// `format` if JSON is wanted.
Result<std::optional<formats::EvaluationSummary>> store_layer(const Asked& asked,
                                                              const report::EvictOptions& options,
                                                              std::int32_t layer, JsonWriter* json) {
  if (!asked.format) return std::optional<formats::EvaluationSummary>{};
  formats::EvaluationRequest request{
      .format = formats::of_layer(*asked.format, layer, asked.recording->info().layers),
      .prompt = options.prefill,
      .sequence = options.sequence,
      .layer = layer};
  KVPLAN_TRY(request.evict, policy_at(asked.input, *asked.recording, layer, options.prefill));
  KVPLAN_TRY(const formats::Evaluation found, evaluate_format(*asked.recording, request, options.input));
  if (json != nullptr) {
    json->key("format").begin_object();
    report::write_stored(*json, request, found);
    json->end_object();
  }
  return std::optional(found.summary);
}

/// The recorded layers of the sequence; all requested ones if the sequence does not exist, which the evaluation then
/// reports.
std::vector<std::int32_t> layers_of(const Asked& asked, const report::EvictOptions& options) {
  const attention::RecordingInfo& info = asked.recording->info();
  std::vector<std::int32_t> out;
  for (const std::int32_t layer : info.layer_numbers())
    if (options.sequence >= static_cast<std::int64_t>(info.sequences.size()) ||
        asked.recording->tokens(options.sequence, layer) > 0)
      out.push_back(layer);
  return out.empty() ? std::vector<std::int32_t>{0} : out;
}

Status run_layers(const Asked& asked, const report::EvictOptions& options, JsonWriter* json) {
  std::vector<report::LayerOutcome> layers;
  if (json != nullptr) json->key("layers").begin_array();
  for (const std::int32_t layer : layers_of(asked, options)) {
    const auto index = static_cast<std::size_t>(layer);
    if (json != nullptr) {
      json->begin_object().member("layer", layer);
      if (asked.input.budget) {
        json->key("budget");
        report::write_grant(*json, asked.input.grants, index);
      }
    }
    KVPLAN_TRY(auto summary, evaluate_layer(asked, options, layer, json));
    if (json != nullptr) report::write_summary(*json, options, summary);
    KVPLAN_TRY(const auto stored, store_layer(asked, options, layer, json));
    if (json != nullptr) json->end_object();
    layers.push_back({index, std::move(summary), stored});
  }
  if (json == nullptr)
    return write_text("-", report::layers_text(options, asked.input.policy,
                                               asked.input.budget ? &asked.input.grants : nullptr, layers));
  json->end_array();
  report::write_layers_summary(*json, options, layers);
  return Done{};
}

Status run_evict(const report::EvictOptions& options) {
  KVPLAN_TRY(const Asked asked_for, asked(options));
  JsonWriter writer(0);
  JsonWriter* const json = options.json.empty() ? nullptr : &writer;
  writer.begin_object().member("policy", asked_for.input.policy.kind->golden_name);
  report::write_params(writer, asked_for.input.policy, asked_for.group);
  if (asked_for.input.budget) writer.member("budget", asked_for.input.budget->to_string());
  writer.member("prefill_len", options.prefill).member("input", options.input);
  writer.member("sequence", options.sequence);
  if (!options.one_layer) {
    KVPLAN_TRY_DO(run_layers(asked_for, options, json));
  } else {
    writer.member("layer", options.layer);
    KVPLAN_TRY(EvaluationSummary summary, evaluate_layer(asked_for, options, options.layer, json));
    if (json != nullptr) report::write_summary(writer, options, summary);
    KVPLAN_TRY(const auto stored, store_layer(asked_for, options, options.layer, json));
    const report::LayerOutcome outcome{static_cast<std::size_t>(options.layer), std::move(summary), stored};
    if (json == nullptr)
      return write_text("-", report::summary_text(options, asked_for.input.policy, outcome));
  }
  if (json == nullptr) return Done{};
  writer.member("version", KVPLAN_VERSION).end_object();
  return write_text(options.json, writer.take());
}

std::string policy_help() {
  std::string out = "Token policy as NAME[:key=value,...]:";
  for (const attention::PolicyKind* kind : attention::policies()) {
    out.append(" ").append(kind->descriptor.name);
    char separator = ':';
    for (const Param& param : kind->descriptor.params) {
      if (!param.fallback.empty()) continue;
      out.append(1, separator).append(param.name);
      separator = ',';
    }
  }
  return out;
}

}  // namespace

void add_evict(Command& app, Outcome& outcome) {
  auto options = std::make_shared<report::EvictOptions>();
  Command* const command = app.add_subcommand("evict",
                                              "Apply a token policy to recorded attention: which tokens it "
                                              "keeps and how much attention mass they hold");
  command->add_option("INPUT", options->input, "A .kva recording, or attention rows as JSON")->required();
  command->add_option("--policy", options->policy, policy_help())->required();
  add_whole_number(*command, "--prefill", options->prefill, {1, INT32_MAX},
                   "Tokens of the prompt; every later token is a decode step")
      ->required()
      ->default_str("");
  add_whole_number(*command, "--sequence", options->sequence, {0, INT32_MAX}, "Index of the sequence");
  Option* const layer =
      add_whole_number(*command, "--layer", options->layer, {0, INT32_MAX}, "Index of the layer");
  Option* const budget = command->add_option("--budget", options->budget,
                                             "Budget scheme as NAME[:key=value,...] (kvplan list budget): it "
                                             "sets the policy's number of tokens for each layer");
  command->add_option(
      "--format", options->format,
      "Format as NAME[:key=value,...] (kvplan list codec) that stores the kept tokens: adds its bytes, and "
      "the error of eviction and format together; needs recorded queries, keys and values");
  Option* const all =
      command->add_flag("--all-layers", options->all_layers, "Evaluate every layer of the recording");
  all->excludes(layer);
  command->add_flag("--overlap", options->overlap,
                    "Add to each step the overlap with the oracle: which share of the n attended tokens "
                    "belongs to the n tokens with the largest weights");
  add_json_option(*command, options->json, "every step");
  run_as(*command, outcome, [options, layer, budget] {
    options->one_layer = !options->all_layers && (!budget->given() || layer->given());
    return run_evict(*options);
  });
}

}  // namespace kvplan::cli
