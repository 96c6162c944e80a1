// kvplan cache: prefix caches in replays that have no time, as each engine defines its replay.
#include <algorithm>
#include <memory>

#include "simulator/base/check.h"
#include "simulator/base/suggest.h"
#include "simulator/cli/command.h"
#include "simulator/cli/import_options.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/replacement_command.h"
#include "simulator/cli/trace_input.h"
#include "simulator/memory/allocators.h"
#include "simulator/scenario/scenario.h"
#include "simulator/scheduling/engines.h"
#include "simulator/scheduling/replay/engine_replay.h"

namespace kvplan::cli {
namespace {

/// The name of the component that a scenario has at the path when it says nothing.
std::string_view default_member(std::string_view path) {
  for (const runs::Field& field : runs::scenario_fields())
    if (field.path == path) return field.fallback;
  check_failed("scenario has this field", __FILE__, __LINE__);
}

struct CacheFlags {
  std::string trace, engine{default_member("engine")}, driver, csv, step_csv;
  replays::CacheOptions options;
  bool no_prefix_cache{false};
  traces::ImportOptions import;
};

/// The allocator has a limit of its own on the pool, and refuses larger ones.
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 40;
constexpr std::int64_t kMostWindow = std::int64_t{1} << 31;
constexpr std::int64_t kMostQuantumMs = 1'000'000'000;

/// The range of the scenario parameter with the same meaning, in the component that the field has by default.
WholeRange param_range(std::string_view path, Catalogue catalogue, std::string_view name) {
  for (const Descriptor* descriptor : catalogue)
    for (const Param& param : descriptor->params)
      if (descriptor->name == default_member(path) && param.name == name)
        return {static_cast<std::int64_t>(param.low), static_cast<std::int64_t>(param.high)};
  check_failed("this component has the parameter", __FILE__, __LINE__);
}

/// The name by which `kvplan cache` and scenarios know an engine.
std::string_view name_of(const scheduling::Engine& engine) {
  return engine.scheduler->descriptor.name;
}

/// The engines that have replays.
std::vector<const scheduling::Engine*> engines() {
  std::vector<const scheduling::Engine*> out;
  for (const scheduling::Engine* engine : scheduling::engines())
    if (engine->scheduler != nullptr && !engine->replays.empty()) out.push_back(engine);
  return out;
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const scheduling::Engine* engine : engines()) names.emplace_back(name_of(*engine));
  return names;
}

/// The help text of --driver.
std::string driver_help() {
  std::string text = "Driver of the engine: how requests are replayed";
  for (const scheduling::Engine* engine : engines()) {
    std::string separator = ". " + std::string(name_of(*engine)) + ": ";
    for (const replays::EngineReplay* replay : engine->replays) {
      text += separator + std::string(replay->name) + ", " + std::string(replay->summary);
      separator = "; ";
    }
  }
  return text;
}

Result<const replays::EngineReplay*> chosen_replay(const CacheFlags& flags) {
  std::vector<std::string_view> known;
  for (const scheduling::Engine* engine : engines()) {
    if (name_of(*engine) != flags.engine) continue;
    for (const replays::EngineReplay* replay : engine->replays) {
      if (replay->name == flags.driver) return replay;
      known.push_back(replay->name);
    }
  }
  return bad_input(unknown_name("driver of " + flags.engine, flags.driver, known)).at_field("--driver");
}

/// Every option that some replay needs or accepts.
std::vector<std::string_view> options_of_replays() {
  std::vector<std::string_view> out;
  for (const scheduling::Engine* engine : engines())
    for (const replays::EngineReplay* replay : engine->replays)
      for (const auto names : {replay->needs, replay->takes})
        out.insert(out.end(), names.begin(), names.end());
  return out;
}

/// Checks that all options that the driver needs are given, and none that it does not know.
Status check_given(const Command& command, const CacheFlags& flags, const replays::EngineReplay& driver) {
  const std::string name_of_driver = flags.engine + " " + std::string(driver.name);
  const auto given = [&](std::string_view name) { return command.option(std::string(name)).given(); };
  const auto has = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string_view name : options_of_replays()) {
    if (has(driver.needs, name) || has(driver.takes, name) || !given(name)) continue;
    std::string known;
    for (const auto own : {driver.needs, driver.takes})
      for (const std::string_view option : own) known += (known.empty() ? "" : ", ") + std::string(option);
    return bad_input(name_of_driver + " does not take this option; it takes " + known).at_field(name);
  }
  for (const std::string_view name : driver.needs)
    if (!given(name)) return bad_input(name_of_driver + " needs this option").at_field(name);
  if (given("--step-csv") && !driver.has_steps)
    return bad_input(name_of_driver + " has no steps").at_field("--step-csv");
  return Done{};
}

Status run(const Command& command, CacheFlags& flags) {
  KVPLAN_TRY(const replays::EngineReplay* const driver, chosen_replay(flags));
  KVPLAN_TRY_DO(check_given(command, flags, *driver));
  if (flags.csv == "-" && flags.step_csv == "-")
    return bad_input("expected at most one output on standard output");
  KVPLAN_TRY_DO(check_apart({flags.trace}, {flags.csv, flags.step_csv}));
  flags.options.prefix_cache = !flags.no_prefix_cache;
  flags.options.stop_asked = interrupted;
  KVPLAN_TRY(const traces::Trace trace, read_trace(flags.trace, flags.import));
  replays::Tables tables{.wants_steps = !flags.step_csv.empty(), .requests = {}, .steps = {}};
  KVPLAN_TRY_DO(driver->run(trace, flags.options, tables));
  Outputs outputs;
  KVPLAN_TRY_DO(outputs.add(flags.csv, tables.requests));
  KVPLAN_TRY_DO(outputs.add(flags.step_csv, tables.steps));
  return outputs.commit();
}

}  // namespace

void add_cache(Command& app, Outcome& outcome) {
  Command* const command = app.add_subcommand(
      "cache", "Replay the prefix cache of an engine without simulated time, or compute hit-rate curves");
  auto flags = std::make_shared<CacheFlags>();
  replays::CacheOptions& options = flags->options;
  scheduling::vllm::Params& scheduler = options.scheduler;
  command->add_option("trace", flags->trace, "Trace: a .kvt or any importable file")->required();
  add_import_options(*command, flags->import);
  const ReplacementCommand replacement(*command);
  command->add_option("--engine", flags->engine, "Engine with the prefix cache to replay")
      ->one_of(engine_names());
  command->add_option("--driver", flags->driver, driver_help())->required();
  command->add_option("--csv", flags->csv, "Write one CSV line per request to FILE, or - for standard output")
      ->required();
  command->add_option("--step-csv", flags->step_csv,
                      "Write one CSV line per step (driver sched) to FILE, or - for standard output");
  const auto add = [&](const char* name, std::int64_t& to, WholeRange range, const char* help) {
    return add_whole_number(*command, name, to, range, help);
  };
  const auto add_maybe = [&](const char* name, std::optional<std::int64_t>& to, WholeRange range,
                             const char* shown_default, const char* help) {
    add_whole_number(*command, name, range, help, shown_default, [&to](std::int64_t value) { to = value; });
  };
  add("--block-tokens", options.block_tokens,
      param_range("memory.allocator", memory::allocator_descriptors(), "block_tokens"),
      "Tokens per block; for sglang, tokens per page")
      ->default_str("");
  add("--blocks", options.blocks, {2, kMostBlocks}, "Blocks in the pool, including the null block (vllm-v1)")
      ->default_str("");
  add("--pool-tokens", options.pool_tokens, {1, kMostBlocks}, "Tokens in the pool (sglang)")->default_str("");
  add("--window", options.window, {1, kMostWindow},
      "Sliding window of the second layer group, in tokens (seqswa)");
  add_maybe("--chunk", options.chunk, {1, kMostWindow}, "",
            "Maximum number of prompt tokens that are allocated at once (seqswa; default 8192), or that a "
            "prefill batch "
            "computes (sglang; default: no limit)");
  add_maybe("--quantum-ms", options.quantum_ms, {1, kMostQuantumMs}, "",
            "Milliseconds of trace time per step (default: hold 100, sched 50)");
  const auto add_limit = [&](const char* name, std::int64_t& to, const char* param, const char* help) {
    add(name, to, param_range("engine", scheduling::engine_descriptors(), param), help);
  };
  add_limit("--token-budget", scheduler.token_budget, "token_budget",
            "Maximum number of tokens computed in one step (vllm-v1)");
  add_limit("--max-seqs", scheduler.max_seqs, "max_seqs", "Maximum number of requests running at once");
  add_limit("--long-prefill-threshold", scheduler.long_prefill_threshold, "long_prefill_threshold",
            "Maximum number of tokens of one prompt computed in one step; 0 = no limit (vllm-v1)");
  add_limit("--max-model-len", scheduler.max_model_len, "max_model_len",
            "Longest allowed request; longer ones are rejected (vllm-v1)");
  scheduling::sglang::Params& sglang = options.sglang;
  command
      ->add_function(
          "--policy",
          [&sglang](const std::string& name) -> Status {
            sglang.order = name == "lpm" ? scheduling::sglang::QueueOrder::kLongestPrefix
                                         : scheduling::sglang::QueueOrder::kArrival;
            return Done{};
          },
          "Order of the waiting queue: fcfs serves by arrival, lpm serves the longest cached prefix first "
          "(sglang)")
      ->one_of({"fcfs", "lpm"})
      ->default_str("fcfs");
  add("--max-prefill-tokens", sglang.max_prefill_tokens, {1, kMostWindow},
      "Maximum number of tokens in a prefill batch, not counting its first request (sglang)");
  command->add_flag("--ignore-eos", sglang.ignore_eos,
                    "Without a prefix cache, admit a request only if memory suffices until every running "
                    "request has generated all that it may (sglang)");
  add_number(
      *command, "--conservativeness", sglang.conservativeness, {0, 1000},
      "Factor on the initial new-token ratio (0.7): the share of the tokens that running requests may still "
      "generate which admission reserves (schedule_conservativeness, sglang)");
  add("--decay-steps", sglang.decay_steps, {1, kMostWindow},
      "Decode steps in which the new-token ratio falls to its minimum (sglang)");
  add("--clip", sglang.clip_tokens, {1, kMostWindow},
      "Maximum number of output tokens that admission assumes for one request (sglang)");
  add("--retract-decode-steps", sglang.retract_decode_steps, {0, kMostWindow},
      "Decode steps that must fit into memory after a retraction (sglang)");
  command->add_flag("--no-prefix-cache", flags->no_prefix_cache,
                    "Turn prefix caching off: no request hits cached tokens");
  command->add_flag("--step-by-step", options.step_by_step,
                    "Use the naive engine: slower, same result (vllm-v1)");
  run_as(*command, outcome, [flags, command, replacement] {
    return replacement.given() ? replacement.run(flags->trace, flags->import) : run(*command, *flags);
  });
}

}  // namespace kvplan::cli
