// kvplan format: bytes and errors of a KV-cache format over recorded queries, keys and values.
#include <charconv>
#include <memory>
#include <optional>
#include <vector>

#include "simulator/cli/command.h"
#include "simulator/cli/format_input.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/policy_input.h"
#include "simulator/cli/recording_input.h"
#include "simulator/formats/evaluation.h"
#include "simulator/report/format_output.h"

namespace kvplan::cli {
namespace {

struct FormatOptions {
  std::string input;
  std::string format;
  std::string evict;
  std::string budget;
  std::vector<std::string> probes;
  std::string json;
  std::int64_t prefill{0};
  std::int32_t sequence{0};
  std::int32_t layer{0};
};

Result<formats::Probe> probe_of(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  formats::Probe out;
  std::array<std::int64_t, 3> numbers{};
  bool good = parts.size() == 4 && (parts[0] == "K" || parts[0] == "V");
  for (std::size_t i = 0; good && i < numbers.size(); ++i) {
    const auto read = read_whole_number(parts[i + 1], {0, INT32_MAX});
    good = read.ok();
    if (good) numbers[i] = read.value();
  }
  if (!good) return not_expected("K|V,HEAD,POSITION,CHANNEL", text).at_field("--probe");
  out.side = parts[0] == "K" ? formats::Side::kKeys : formats::Side::kValues;
  out.head = static_cast<std::int32_t>(numbers[0]);
  out.position = numbers[1];
  out.channel = static_cast<std::int32_t>(numbers[2]);
  return out;
}

/// The request without its policy.
Result<formats::EvaluationRequest> request_of(const FormatOptions& options) {
  formats::EvaluationRequest out;
  out.prompt = options.prefill;
  out.sequence = options.sequence;
  out.layer = options.layer;
  KVPLAN_TRY(out.format, read_format_input(options.format));
  for (const std::string& text : options.probes) {
    KVPLAN_TRY(const formats::Probe probe, probe_of(text));
    out.probes.push_back(probe);
  }
  return out;
}

Status run_format(const FormatOptions& options) {
  KVPLAN_TRY_DO(check_apart({options.input}, {options.json}));
  KVPLAN_TRY(formats::EvaluationRequest request, request_of(options));
  KVPLAN_TRY_DO(check_apart(request.format.choice.files(), {options.json}));
  std::optional<PolicyInput> evict;
  if (!options.evict.empty()) {
    KVPLAN_TRY(evict, parse_policy_input(options.evict, "--evict", options.budget));
  } else if (!options.budget.empty()) {
    return bad_input("expected a policy with a parameter for its number of tokens (--evict)")
        .at_field("--budget");
  }
  KVPLAN_TRY(const auto recording, open_recording(options.input));
  if (evict) {
    KVPLAN_TRY_DO(read_policy_input(*evict, *recording, options.sequence, options.prefill));
    KVPLAN_TRY(request.evict, policy_at(*evict, *recording, options.layer, options.prefill));
  }
  request.format = formats::of_layer(request.format, options.layer, recording->info().layers);
  KVPLAN_TRY(const formats::Evaluation found, evaluate_format(*recording, request, options.input));
  if (options.json.empty()) return write_text("-", report::format_text(request, found, options.input));
  return write_text(options.json, report::format_json(request, found, options.input,
                                                      recording->info().layer(options.layer).group));
}

std::string format_help() {
  std::string out = "Format as NAME[:key=value,...]:";
  for (const formats::FormatKind* kind : formats::formats()) {
    out.append(" ").append(kind->descriptor.name);
    char separator = ':';
    for (const Param& param : kind->descriptor.params) {
      out.append(1, separator).append(param.name).append("=").append(param.fallback);
      separator = ',';
    }
  }
  return out;
}

}  // namespace

void add_format(Command& app, Outcome& outcome) {
  auto options = std::make_shared<FormatOptions>();
  Command* const command = app.add_subcommand(
      "format", "Apply a KV-cache format to recorded keys and values: its bytes and its attention error");
  command
      ->add_option(
          "INPUT", options->input,
          "A .kva recording with queries, keys and values, or a JSON file that names raw tensor files")
      ->required();
  command->add_option("--format", options->format, format_help())->required();
  command->add_option("--evict", options->evict,
                      "Token policy as NAME[:key=value,...] (kvplan list eviction): the format stores the "
                      "tokens that it keeps");
  command->add_option("--budget", options->budget,
                      "Budget scheme as NAME[:key=value,...] (kvplan list budget): its share for this layer "
                      "replaces the number of tokens in --evict");
  add_whole_number(*command, "--prefill", options->prefill, {1, INT32_MAX},
                   "Tokens of the prompt; every later token is a decode step")
      ->required()
      ->default_str("");
  command
      ->add_option("--probe", options->probes,
                   "K|V,HEAD,POSITION,CHANNEL: show this element, its code and its scale; may be repeated")
      ->one_value_each();
  add_whole_number(*command, "--sequence", options->sequence, {0, INT32_MAX}, "Index of the sequence");
  add_whole_number(*command, "--layer", options->layer, {0, INT32_MAX}, "Index of the layer");
  add_json_option(*command, options->json, "every step");
  run_as(*command, outcome, [options] { return run_format(*options); });
}

}  // namespace kvplan::cli
