// kvplan plan: from traffic and targets to the cheapest deployment.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/cli/command.h"
#include "simulator/cli/database_name.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/scenario_input.h"
#include "simulator/cli/vary_input.h"
#include "simulator/io/device_file.h"
#include "simulator/io/openers.h"
#include "simulator/launch/export.h"
#include "simulator/planner/database_store.h"
#include "simulator/planner/plan_html.h"
#include "simulator/planner/plan_json.h"
#include "simulator/planner/plan_text.h"
#include "simulator/planner/planner.h"
#include "simulator/report/number_text.h"
#include "simulator/scenario/scenario_files.h"

namespace kvplan::cli {
namespace {

struct PlanFlags {
  ScenarioInput input;
  std::string model, devices, rates, json, html, out, exported;
  std::vector<std::string> targets, may;
  std::int64_t most_gpus{256};
  double budget{0};
  double start_up_s{300};
  std::optional<std::int64_t> resamples;
  int threads{1};
  bool resume{false}, verbose{false};
};

/// The parts of "A;B".
Result<std::vector<std::string>> parts_of(const std::string& text, const char* option) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    const std::size_t first = part.find_first_not_of(' ');
    part = first == std::string::npos ? "" : part.substr(first, part.find_last_not_of(' ') - first + 1);
    if (part.empty()) return Error(not_expected("values separated by semicolons", text)).at_field(option);
    if (std::find(out.begin(), out.end(), part) != out.end())
      return bad_input("expected each value once, found " + part + " again").at_field(option);
    out.push_back(std::move(part));
    begin = end + 1;
  }
  return out;
}

/// Shows how many of the expected runs are done, and when the rest will be done.
class PlanProgress {
 public:
  PlanProgress() : progress_([this] { return line(); }) {}
  void tell(std::int64_t runs, std::int64_t expected) {
    runs_.store(runs, std::memory_order_relaxed);
    expected_.store(expected, std::memory_order_relaxed);
  }
  void end() { progress_.end(); }

 private:
  [[nodiscard]] std::string line() const {
    const std::int64_t runs = runs_.load(std::memory_order_relaxed);
    const std::int64_t expected = expected_.load(std::memory_order_relaxed);
    if (runs == 0 || expected <= 0) return "reading";
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    return progress_bar(runs, expected) + " of about " + report::grouped(expected) + " runs, about " +
           report::seconds_text(seconds * static_cast<double>(expected - runs) / static_cast<double>(runs)) +
           " left";
  }
  std::chrono::steady_clock::time_point begin_{std::chrono::steady_clock::now()};
  std::atomic<std::int64_t> runs_{0}, expected_{0};
  Progress progress_;  // declared last, because its thread reads the others
};

Result<std::vector<runs::Setting>> plan_settings(const PlanFlags& flags, planner::TargetOptions& targets) {
  KVPLAN_TRY(std::vector<runs::Setting> settings, read_settings(flags.input));
  if (!flags.model.empty()) {
    settings.push_back({"model", flags.model, {}, 0});
    settings.back().option = "--model";
  }
  KVPLAN_TRY(targets, planner::parse_targets(flags.targets));
  settings.insert(settings.end(), targets.settings.begin(), targets.settings.end());
  return settings;
}

Result<std::vector<std::string>> rates_of(const PlanFlags& flags,
                                          const std::vector<runs::Setting>& settings) {
  if (!flags.rates.empty()) {
    KVPLAN_TRY(std::vector<std::string> rates, parts_of(flags.rates, "--rate"));
    for (const std::string& rate : rates)
      if (const auto fraction = parse_fraction(rate); !fraction.ok())
        return Error(fraction.error()).at_field("--rate");
    return rates;
  }
  for (auto at = settings.rbegin(); at != settings.rend(); ++at)
    if (at->path == "workload.rate_scale" && at->text != "none") return std::vector<std::string>{at->text};
  return std::vector<std::string>{"1"};
}

/// The store of --out: a database that records the digests of the files that all cases read.
Result<std::unique_ptr<planner::Store>> open_store(const PlanFlags& flags, runs::Inputs& inputs,
                                                   const planner::Space& space,
                                                   const std::vector<planner::Target>& targets,
                                                   const runs::Scenario& first) {
  planner::DatabaseOptions options{flags.out, flags.resume, {}};
  for (const std::string& file : runs::files_of(first)) {
    std::string digest;
    if (file == first.trace) {
      KVPLAN_TRY(const runs::TracePtr trace, inputs.trace(first));
      digest = trace->digest;
    } else {
      KVPLAN_TRY(digest, io::content_digest(file, interrupted));
    }
    options.inputs.emplace_back(file, digest);
  }
  return planner::open_database_store(options, space, targets, first);
}

/// The command that makes the same page again.
std::string command_line(const PlanFlags& flags) {
  std::string line = "kvplan plan " + report::shell_quoted(flags.input.path) + scenario_flags(flags.input);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) line.append(" ").append(option).append(" ").append(report::shell_quoted(value));
  };
  add("--model", flags.model);
  add("--devices", flags.devices);
  for (const std::string& target : flags.targets) add("--target", target);
  add("--rate", flags.rates);
  for (const std::string& may : flags.may) add("--may", may);
  add("--max-gpus", std::to_string(flags.most_gpus));
  if (flags.budget > 0) add("--budget", shortest(flags.budget));
  add("--start-up", shortest(flags.start_up_s));
  if (flags.resamples) add("--resamples", std::to_string(*flags.resamples));
  add("--export", flags.exported);
  add("--html", flags.html);
  return line;
}

/// What starts the answers.
Status add_exports(const std::string& form, planner::Plan& plan) {
  if (form.empty()) return Done{};
  for (planner::RatePlan& rate : plan.rates) {
    if (!rate.best) continue;
    KVPLAN_TRY(const runs::Scenario scenario, runs::resolve(rate.best->settings));
    KVPLAN_TRY(const launch::Servers servers, launch::servers_of(scenario));
    const launch::PoolContract pool{rate.best->pool_tokens, rate.best->pool_low_tokens,
                                    rate.best->pool_high_tokens};
    KVPLAN_TRY(const std::string text, launch::export_text(servers, form, pool));
    rate.exported = planner::Exported{form, text, launch::contract_text(servers, pool)};
  }
  return Done{};
}

/// An unknown form, or that of another engine, before anything runs.
Status check_export(const std::string& form, const std::vector<runs::Setting>& settings) {
  if (form.empty()) return Done{};
  KVPLAN_TRY(const runs::Scenario scenario, runs::resolve(settings));
  KVPLAN_TRY(const launch::Servers servers, launch::servers_of(scenario));
  const auto text = launch::export_text(servers, form, {});
  return text.ok() ? Status(Done{}) : Status(text.error());
}

Status run(const PlanFlags& flags) {
  KVPLAN_TRY_DO(check_apart({flags.input.path}, {flags.json, flags.html, flags.out}));
  if (flags.resume && flags.out.empty())
    return bad_input("expected --out, which --resume continues").at_field("--resume");
  if (!flags.out.empty()) KVPLAN_TRY_DO(check_database_name(flags.out, flags.resume));
  planner::PlanRequest request;
  planner::TargetOptions targets;
  KVPLAN_TRY(request.settings, plan_settings(flags, targets));
  request.goodput_per_s = targets.goodput_per_s;
  KVPLAN_TRY_DO(check_export(flags.exported, request.settings));
  KVPLAN_TRY(request.rates, rates_of(flags, request.settings));
  if (!flags.devices.empty()) {
    KVPLAN_TRY(request.devices, parts_of(flags.devices, "--devices"));
    for (std::string& device : request.devices) {
      KVPLAN_TRY(device, io::device_text(device));
    }
  }
  for (const std::string& text : flags.may) {
    KVPLAN_TRY(const runs::Scenario scenario, runs::resolve(request.settings));
    auto vary = read_vary(text);
    if (!vary.ok()) {
      Error error = vary.error();
      const bool of_file = !error.file.empty() && error.field.empty();
      return of_file ? error : std::move(error).at_field("--may");
    }
    request.may.push_back(planner::with_whole_path(std::move(vary).value(), scenario));
  }
  request.most_gpus = flags.most_gpus;
  if (flags.budget > 0) request.budget_per_hour = flags.budget;
  request.start_up_s = flags.start_up_s;
  request.resamples = flags.resamples;
  request.threads = flags.threads;
  request.inputs = std::make_shared<runs::Inputs>(input_readers(flags.input.import));
  core::RunControl control;
  control.stop_asked = interrupted;
  request.control = &control;
  if (!flags.out.empty())
    request.open_store = [&](const planner::Space& space, const std::vector<planner::Target>& wanted,
                             const runs::Scenario& first) {
      return open_store(flags, *request.inputs, space, wanted, first);
    };
  PlanProgress progress;
  request.on_progress = [&](std::int64_t runs, std::int64_t expected) { progress.tell(runs, expected); };
  auto made = planner::make_plan(request);
  progress.end();
  if (!made.ok()) return made.error();
  planner::Plan plan = std::move(made).value();
  KVPLAN_TRY_DO(add_exports(flags.exported, plan));
  const std::string json = flags.json.empty() ? std::string() : planner::plan_json(plan);
  const std::string text = flags.json == "-" ? json : planner::plan_text(plan, output_width(), flags.verbose);
  // After an interruption the answer so far is printed, and no file is replaced by it.
  if (plan.interrupted) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    return interrupted_error();
  }
  Outputs outputs;
  KVPLAN_TRY_DO(outputs.add(flags.json, json));
  if (!flags.html.empty())
    KVPLAN_TRY_DO(outputs.add(flags.html, planner::plan_html(plan, command_line(flags))));
  KVPLAN_TRY_DO(outputs.commit());
  return flags.json == "-" ? Status(Done{}) : write_text("-", text);
}

}  // namespace

void add_plan(Command& app, Outcome& outcome) {
  Command* const command = app.add_subcommand("plan",
                                              "Find the cheapest deployment that serves a trace within "
                                              "latency targets, its runners-up, and what limits it");
  auto flags = std::make_shared<PlanFlags>();
  add_scenario_options(*command, flags->input);
  command->add_option("--model", flags->model,
                      "Model (kvplan list model), or path of a config.json; same as --set model=M");
  command->add_option(
      "--devices", flags->devices,
      "Device kinds to choose from, separated by semicolons (kvplan list device). Default: the "
      "scenario's, else all of the price list");
  command
      ->add_option(
          "--target", flags->targets,
          "What has to hold; may be repeated: ttft.p99<=2s (ttft, tpot, e2e, queue; any percentile), "
          "ttft<=2s (a limit for each request), met>=0.99 (share of requests within such limits), "
          "goodput>=5/s. Without --target, the scenario's targets apply")
      ->repeatable()
      ->one_value_each();
  command->add_option(
      "--rate", flags->rates,
      "Arrival rates to plan for, as multiples of the trace's rate, separated by semicolons: 1;3");
  command
      ->add_option(
          "--may", flags->may,
          "PATH=VALUE;VALUE: values of a path that the search tries too; may be repeated. Short names: tp, "
          "pp, "
          "kv-format, prefix-cache, max-seqs, token-budget, block, allocator, router. Without tp or pp, the "
          "search chooses their values itself")
      ->repeatable()
      ->one_value_each();
  add_whole_number(*command, "--max-gpus", {1, 4096}, "Most GPUs of a deployment", "256",
                   [flags](std::int64_t gpus) { flags->most_gpus = gpus; });
  add_number(*command, "--budget", flags->budget, {0, 1e12},
             "Highest cost per hour, in the price list's currency; 0: none");
  add_number(*command, "--start-up", flags->start_up_s, {0, 1e6},
             "Seconds from ordering a server until it serves, for the GPUs needed over the day");
  add_whole_number(*command, "--resamples", {0, 10000},
                   "Resamples of the traffic for the intervals; default: 100, fewer from 20,000 requests on",
                   "", [flags](std::int64_t count) { flags->resamples = count; });
  add_whole_number(*command, "--threads", flags->threads, {1, 1024},
                   "Runs at once; the results do not depend on it");
  command->add_option("--out", flags->out,
                      "Keep every case in this SQLite database, which kvplan report reads");
  command->add_flag("--resume", flags->resume,
                    "Continue an existing database: finished cases are not run again");
  add_json_option(*command, flags->json, "the plan");
  command->add_option("--html", flags->html, "Write the plan as one page with charts to FILE");
  command->add_option("--export", flags->exported,
                      "Print what starts the planned servers: a command (vllm, sglang) or a manifest "
                      "(kubernetes, compose)");
  command->add_flag("--verbose", flags->verbose, "Print every step of the search and all assumptions");
  run_as(*command, outcome, [flags] { return run(*flags); });
}

}  // namespace kvplan::cli
