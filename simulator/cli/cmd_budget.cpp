// kvplan budget: how many tokens of a prompt each layer retains by a budget scheme.
#include <cmath>
#include <memory>
#include <numeric>

#include "simulator/attention/budget.h"
#include "simulator/base/json_writer.h"
#include "simulator/cli/command.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/io/budget_files.h"

namespace kvplan::cli {
namespace {

using attention::Retained;

struct BudgetOptions {
  std::string policy;
  std::string json;
  std::int64_t layers{0};
  std::int64_t prompt{0};
};

void write_number(JsonWriter& json, double tokens) {
  if (tokens == std::floor(tokens)) {
    json.value(static_cast<std::int64_t>(tokens));
  } else {
    json.value(tokens);
  }
}

std::string retained_json(const BudgetOptions& options, const Choice& choice, const Retained& retained) {
  JsonWriter json(0);
  json.begin_object().member("policy", choice.to_string());
  json.member("layers", options.layers).member("prompt", options.prompt).key("retained").begin_array();
  double total = 0;
  for (const auto& layer : retained.tokens) {
    if (retained.by_head) json.begin_array();
    for (const double tokens : layer) write_number(json, tokens);
    if (retained.by_head) json.end_array();
    total = std::accumulate(layer.begin(), layer.end(), total);
  }
  json.end_array().key("total");
  write_number(json, total);
  json.end_object();
  return json.take();
}

std::string number_text(double tokens) {
  char text[48];
  std::snprintf(text, sizeof(text), tokens == std::floor(tokens) ? "%.0f" : "%.3f", tokens);
  return text;
}

std::string retained_text(const BudgetOptions& options, const Choice& choice, const Retained& retained) {
  std::string out = choice.to_string() + "\n" + std::to_string(options.layers) + " layers, a prompt of " +
                    std::to_string(options.prompt) + " tokens\n\nlayer  tokens retained" +
                    (retained.by_head ? ", by KV head\n" : "\n");
  double total = 0;
  std::size_t entries = 0;
  for (std::size_t layer = 0; layer < retained.tokens.size(); ++layer) {
    const std::string index = std::to_string(layer);
    out.append(5 - std::min<std::size_t>(5, index.size()), ' ').append(index).append(" ");
    for (const double tokens : retained.tokens[layer]) {
      out.append(" ").append(number_text(tokens));
      total += tokens;
      ++entries;
    }
    out += "\n";
  }
  const double whole = static_cast<double>(options.prompt) * static_cast<double>(entries);
  out += "\n" + number_text(total) + " together, ";
  if (total > whole) return out + "more than the whole prompt\n";
  return out + number_text(std::round(1000 * total / whole) / 10) + " % of the whole prompt\n";
}

Status run_budget(const BudgetOptions& options) {
  auto parsed = parse_component(options.policy, attention::kBudgetFamily, attention::budget_descriptors());
  if (!parsed.ok()) return bad_input(parsed.error().to_string()).at_field("--policy");
  const Choice& choice = parsed.value();
  KVPLAN_TRY_DO(check_apart(choice.files(), {options.json}));
  KVPLAN_TRY(const Retained retained, io::retained_of(choice, options.layers, options.prompt));
  if (options.json.empty()) return write_text("-", retained_text(options, choice, retained));
  return write_text(options.json, retained_json(options, choice, retained));
}

std::string budget_help() {
  std::string out = "Budget scheme as NAME[:key=value,...]:";
  for (const attention::BudgetKind* kind : attention::budgets()) {
    out.append(" ").append(kind->descriptor.name);
    char separator = ':';
    for (const Param& param : kind->descriptor.params) {
      out.append(1, separator).append(param.name);
      if (!param.fallback.empty()) out.append("=").append(param.fallback);
      separator = ',';
    }
  }
  return out;
}

}  // namespace

void add_budget(Command& app, Outcome& outcome) {
  auto options = std::make_shared<BudgetOptions>();
  Command* const command =
      app.add_subcommand("budget", "How many tokens of a prompt each layer retains by a budget scheme");
  command->add_option("--policy", options->policy, budget_help())->required();
  add_whole_number(*command, "--layers", options->layers, {1, 65536}, "Layers of the model")
      ->required()
      ->default_str("");
  add_whole_number(*command, "--prompt", options->prompt, {1, INT32_MAX}, "Tokens of the prompt")
      ->required()
      ->default_str("");
  add_json_option(*command, options->json, "the result");
  run_as(*command, outcome, [options] { return run_budget(*options); });
}

}  // namespace kvplan::cli
