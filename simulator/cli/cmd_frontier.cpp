// kvplan frontier: policies, budgets and formats side by side over bytes per token, and the bound on mass.
#include <algorithm>
#include <memory>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/replay.h"
#include "simulator/cli/command.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/recording_input.h"
#include "simulator/frontier/frontier_output.h"
#include "simulator/frontier/page.h"
#include "simulator/io/budget_files.h"
#include "simulator/io/policy_files.h"
#include "simulator/io/side_file.h"
#include "simulator/report/number_text.h"

namespace kvplan::cli {
namespace {

struct FrontierFlags {
  std::vector<std::string> inputs;
  std::string policies, budgets, schemes, formats{"full"}, window_format, json, csv, html;
  std::int64_t prompt{0};
  std::int32_t layer{-1};
  int threads{1};
};

std::string command_line(const FrontierFlags& flags) {
  std::string out = "kvplan frontier";
  for (const std::string& input : flags.inputs) out += " " + report::shell_quoted(input);
  out += " --policies " + report::shell_quoted(flags.policies);
  if (!flags.budgets.empty()) out += " --budgets " + flags.budgets;
  if (!flags.schemes.empty()) out += " --budget " + report::shell_quoted(flags.schemes);
  out += " --formats " + report::shell_quoted(flags.formats);
  if (!flags.window_format.empty()) out += " --window-format " + report::shell_quoted(flags.window_format);
  if (flags.prompt > 0) out += " --prefill " + std::to_string(flags.prompt);
  if (flags.layer >= 0) out += " --layer " + std::to_string(flags.layer);
  return out + " --html " + report::shell_quoted(flags.html);
}

Status run(const FrontierFlags& flags) {
  const std::vector<std::string> outputs_asked{flags.json, flags.csv, flags.html};
  if (std::count(outputs_asked.begin(), outputs_asked.end(), "-") > 1)
    return bad_input("expected at most one output on standard output");
  KVPLAN_TRY_DO(check_apart(flags.inputs, outputs_asked));
  for (auto input = flags.inputs.begin(); input != flags.inputs.end(); ++input)
    if (std::any_of(flags.inputs.begin(), input,
                    [&](const std::string& before) { return is_same_file(before, *input); }))
      return bad_input("expected each recording once: a repeated one would count its sequences twice")
          .at_file(*input);
  frontier::Request request;
  std::vector<std::int64_t> budgets;
  if (!flags.budgets.empty()) {
    KVPLAN_TRY(budgets, different_numbers(flags.budgets, {1, std::int64_t{1} << 30}, "--budgets"));
  }
  std::vector<frontier::Scheme> schemes;
  if (!flags.schemes.empty()) {
    KVPLAN_TRY(schemes, frontier::schemes_of(flags.schemes, budgets));
  }
  if (budgets.empty() && schemes.empty())
    return bad_input("expected --budgets (numbers of tokens), --budget (budget schemes), or both");
  for (const frontier::Scheme& scheme : schemes)
    KVPLAN_TRY_DO(check_apart(scheme.choice.files(), outputs_asked));
  request.grants = [](const Choice& scheme, const attention::Recording& recording, std::int32_t sequence,
                      std::int64_t prompt) -> Result<attention::Grants> {
    KVPLAN_TRY(const auto retained,
               io::retained_of(scheme, recording.info().layers, prompt, {&recording, sequence}));
    return attention::grants_of(retained);
  };
  KVPLAN_TRY(request.lanes, frontier::lanes_of(flags.policies, budgets, schemes));
  KVPLAN_TRY(request.storages, frontier::storages_of(flags.formats));
  if (!flags.window_format.empty()) {
    KVPLAN_TRY(auto windows, frontier::storages_of(flags.window_format, "--window-format"));
    if (windows.size() != 1)
      return bad_input("expected one format per --window-format, found " + std::to_string(windows.size()))
          .at_field("--window-format");
    request.window_storage = std::move(windows.front());
  }
  const auto read_side = [&](frontier::Storage& storage) -> Status {
    if (!storage.format) return Done{};
    KVPLAN_TRY_DO(check_apart(storage.format->choice.files(), outputs_asked));
    return io::read_side_file(*storage.format);
  };
  for (frontier::Storage& storage : request.storages) KVPLAN_TRY_DO(read_side(storage));
  if (request.window_storage) KVPLAN_TRY_DO(read_side(*request.window_storage));
  for (frontier::Lane& lane : request.lanes) {
    KVPLAN_TRY_DO(check_apart(lane.policy.choice.files(), outputs_asked));
    KVPLAN_TRY_DO(io::read_policy_files(lane.policy));
  }
  request.prompt = flags.prompt;
  request.threads = flags.threads;
  if (flags.layer >= 0) request.layer = flags.layer;
  for (const std::string& path : flags.inputs) {
    KVPLAN_TRY(auto recording, open_recording(path));
    for (const frontier::Lane& lane : request.lanes) {
      const auto group = attention::group_of(lane.policy, recording->info());
      if (!group.ok()) return Error(group.error()).at_file(path);
    }
    request.inputs.push_back({path, std::move(recording)});
  }
  KVPLAN_TRY(const frontier::Frontier found, frontier::run(request, []() -> Status {
               if (interrupted()) return interrupted_error();
               return Done{};
             }));
  Outputs outputs;
  if (!flags.json.empty()) KVPLAN_TRY_DO(outputs.add(flags.json, frontier::frontier_json(request, found)));
  if (!flags.csv.empty()) KVPLAN_TRY_DO(outputs.add(flags.csv, frontier::frontier_csv(request, found)));
  if (!flags.html.empty())
    KVPLAN_TRY_DO(outputs.add(flags.html, frontier::page(request, found, command_line(flags))));
  KVPLAN_TRY_DO(outputs.commit());
  if (std::count(outputs_asked.begin(), outputs_asked.end(), "-") > 0) {
    print_warnings(found.assumptions);
    return Done{};
  }
  return write_text("-", frontier::frontier_text(request, found));
}

}  // namespace

void add_frontier(Command& app, Outcome& outcome) {
  auto flags = std::make_shared<FrontierFlags>();
  Command* const command = app.add_subcommand("frontier",
                                              "Trade-off of policies and formats on recorded attention: "
                                              "attended mass and output error over bytes per token");
  command
      ->add_option("INPUT", flags->inputs,
                   "Recordings, in the formats that `kvplan evict` reads. Sequences and layers of all "
                   "recordings are pooled; every query head at every decode step has the same weight")
      ->required();
  command
      ->add_option("--policies", flags->policies,
                   "'NAME[:key=value,...];...': token policies. A policy that takes a budget runs with every "
                   "budget, and the parameters that follow from the budget may be left out (h2o: half is "
                   "recent; streaming-llm: 4 sinks). Other policies run once with their own parameters "
                   "(full, recorded:file=F, pyramidkv:capacity=N). Policies that take a budget: " +
                       attention::policies_with_budget())
      ->required();
  command->add_option(
      "--budgets", flags->budgets,
      "N[,N...]: tokens kept per KV head and layer. Policies that select once at the end of the prompt "
      "(snapkv, ada-kv, knorm and other key-based ones) keep this many prompt tokens plus all generated "
      "ones. Policies that select periodically (r-kv, seed-ring) hold more between selections");
  command->add_option("--budget", flags->schemes,
                      "'NAME[:key=value,...];...' (kvplan list budget): budget schemes, which give each "
                      "layer its own number of tokens. They apply to every policy that takes a budget. "
                      "Without a capacity, a scheme runs with each number of --budgets");
  command
      ->add_option("--formats", flags->formats,
                   "'NAME[:key=value,...];...' (kvplan list codec): formats that store the kept tokens; full "
                   "stores them with the recording's element size")
      ->capture_default_str();
  command->add_option("--window-format", flags->window_format,
                      "Format of the layers with a sliding window. These layers keep the tokens of their "
                      "window, whatever policy and format the other layers have");
  add_whole_number(
      *command, "--prefill", flags->prompt, {1, INT32_MAX},
      "Tokens of the prompt. Default: the recorded prompt length, else the first half of a sequence")
      ->default_str("");
  add_whole_number(*command, "--layer", flags->layer, {0, INT32_MAX}, "Use only this layer")->default_str("");
  add_layer_threads(*command, flags->threads);
  add_json_option(
      *command, flags->json,
      "all points, and the oracle: the largest attention mass that a given number of entries can hold");
  command->add_option("--csv", flags->csv, "Write one CSV line per point to FILE, or - for standard output");
  command->add_option("--html", flags->html, "Write one HTML page: a chart and tables");
  command->footer(
      "bytes_per_token: the bytes stored after the last token, over all layers and with the policy's "
      "metadata, divided by the tokens of all sequences. mass_mean: mean over query heads and decode steps. "
      "oracle: the largest mass that the same number of entries can hold, chosen anew at every step; it "
      "bounds mass, not error. JSON and CSV output also have mass_standard_error and "
      "output_error_standard_error (of the means, over sequences; the ± of the table) and needle_recall "
      "(share of the tokens of class needle that are kept).");
  run_as(*command, outcome, [flags] { return run(*flags); });
}

}  // namespace kvplan::cli
