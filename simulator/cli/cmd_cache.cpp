// kvplan cache: prefix caches without time, as the recorded drivers define them.
#include <CLI/CLI.hpp>
#include <memory>

#include "simulator/base/check.h"
#include "simulator/cli/command.h"
#include "simulator/cli/import_options.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/replacement_command.h"
#include "simulator/cli/trace_input.h"
#include "simulator/drivers/cache_drivers.h"
#include "simulator/memory/allocators.h"
#include "simulator/scheduling/engines.h"

namespace kvplan::cli {
namespace {

struct CacheFlags {
  std::string trace, engine{"vllm-v1"}, driver, csv, step_csv;
  drivers::CacheOptions options;
  bool no_prefix_cache{false};
  traces::ImportOptions import;
};

/// Larger pools the allocator refuses, with its own limit.
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 40;
constexpr std::int64_t kMostWindow = std::int64_t{1} << 31;
constexpr std::int64_t kMostQuantumMs = 1'000'000'000;

/// What the scenario parameter of the same meaning may be.
WholeRange param_range(Catalogue catalogue, std::string_view component, std::string_view name) {
  for (const Descriptor* descriptor : catalogue)
    for (const Param& param : descriptor->params)
      if (descriptor->name == component && param.name == name)
        return {static_cast<std::int64_t>(param.low), static_cast<std::int64_t>(param.high)};
  check_failed("component has this parameter", __FILE__, __LINE__);
}

/// Appends numbers with commas between, then a line feed.
template <class... T>
void append_line(std::string& out, const T&... numbers) {
  const char* separator = "";
  ((out.append(separator).append(std::to_string(numbers)), separator = ","), ...);
  out += '\n';
}

/// `seq` and `seqswa` have the same columns.
Status run_seq(const CacheFlags& flags, const traces::Trace& trace) {
  std::string out =
      "req,input_length,output_length,status,hit_tokens,new_blocks_prefill,new_blocks_decode,evicted_prefill,"
      "evicted_decode,table_len,table_crc32,cached_hashes_after,free_blocks_after\n";
  const auto drive = flags.driver == "seqswa" ? drivers::run_seqswa_driver : drivers::run_seq_driver;
  KVPLAN_TRY_DO(drive(trace, flags.options, [&](const drivers::SeqRow& r) {
    const auto i = static_cast<std::size_t>(r.request);
    out.append(std::to_string(r.request))
        .append(",")
        .append(std::to_string(trace.input_tokens[i]))
        .append(",");
    out.append(std::to_string(trace.output_tokens[i])).append(r.fits ? ",ok," : ",rejected,");
    append_line(out, r.hit_tokens, r.new_blocks_prefill, r.new_blocks_decode, r.evicted_prefill,
                r.evicted_decode, r.table_len, r.table_crc32, r.cached_hashes_after, r.free_blocks_after);
  }));
  Outputs outputs;
  KVPLAN_TRY_DO(outputs.add(flags.csv, out));
  return outputs.commit();
}

Status run_sched(const CacheFlags& flags, const traces::Trace& trace) {
  std::string steps =
      "step,running,waiting,scheduled_tokens,scheduled_reqs,sampled,preempted,used_blocks,evicted,cached_"
      "hashes\n";
  std::function<void(const drivers::SchedStepRow&)> sink;
  if (!flags.step_csv.empty())
    sink = [&](const drivers::SchedStepRow& s) {
      append_line(steps, s.step, s.running, s.waiting, s.scheduled_tokens, s.scheduled_reqs, s.sampled,
                  s.preempted, s.used_blocks, s.evicted, s.cached_hashes);
    };
  KVPLAN_TRY(const auto rows, drivers::run_sched_driver(trace, flags.options, sink));
  std::string out =
      "req,input_length,output_length,arrival_step,first_sched_step,first_token_step,finish_step,first_hit_"
      "tokens,"
      "all_hit_tokens,admissions,preemptions,computed_tokens\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const drivers::SchedRequestRow& r = rows[i];
    out.append(std::to_string(i)).append(",").append(std::to_string(trace.input_tokens[i])).append(",");
    out.append(std::to_string(trace.output_tokens[i])).append(",");
    // Steps that a rejected request never came to stay empty.
    const auto step = [&](std::int64_t s) {
      if (s >= 0) out += std::to_string(s);
      out += ',';
    };
    step(r.arrival_step);
    step(r.first_sched_step);
    step(r.first_token_step);
    step(r.finish_step);
    append_line(out, r.first_hit_tokens, r.all_hit_tokens, r.admissions, r.preemptions, r.computed_tokens);
  }
  Outputs outputs;
  KVPLAN_TRY_DO(outputs.add(flags.csv, out));
  KVPLAN_TRY_DO(outputs.add(flags.step_csv, steps));
  return outputs.commit();
}

Status run(CacheFlags& flags) {
  if (flags.csv == "-" && flags.step_csv == "-")
    return bad_input("expected at most one output on standard output");
  if (!flags.step_csv.empty() && flags.driver != "sched")
    return bad_input("only the driver sched has steps").at_field("--step-csv");
  KVPLAN_TRY_DO(check_apart({flags.trace}, {flags.csv, flags.step_csv}));
  flags.options.prefix_cache = !flags.no_prefix_cache;
  flags.options.stop_asked = interrupted;
  KVPLAN_TRY(const traces::Trace trace, read_trace(flags.trace, flags.import));
  return flags.driver == "sched" ? run_sched(flags, trace) : run_seq(flags, trace);
}

}  // namespace

void add_cache(CLI::App& app, Outcome& outcome) {
  CLI::App* const command =
      app.add_subcommand("cache", "Run a prefix cache without time and write what it did");
  auto flags = std::make_shared<CacheFlags>();
  core::SchedulerParams& scheduler = flags->options.scheduler;
  command->add_option("trace", flags->trace, "Trace: a .kvt or any importable file")->required();
  add_import_options(*command, flags->import);
  const ReplacementCommand replacement(*command);
  command->add_option("--engine", flags->engine, "Engine that is followed")
      ->check(CLI::IsMember({"vllm-v1"}));
  command
      ->add_option(
          "--driver", flags->driver,
          "seq: one request at a time; seqswa: with a group of layers that sees a window; sched: the "
          "whole scheduler")
      ->required()
      ->check(CLI::IsMember({"seq", "seqswa", "sched"}));
  const auto add = [&](const char* name, std::int64_t& to, WholeRange range, const char* help) {
    return add_whole_number(*command, name, to, range, help);
  };
  add("--block-tokens", flags->options.block_tokens,
      param_range(memory::allocator_descriptors(), "paged", "block_tokens"), "Tokens of a block")
      ->required()
      ->default_str("");
  add("--blocks", flags->options.blocks, {2, kMostBlocks}, "Blocks of the pool, the null block included")
      ->required()
      ->default_str("");
  command->add_option("--csv", flags->csv, "One line per request: FILE, or - for standard output")
      ->required();
  command->add_option("--step-csv", flags->step_csv, "One line per step (sched)");
  add("--window", flags->options.window, {1, kMostWindow}, "Tokens that the second group sees (seqswa)");
  add("--chunk", flags->options.chunk, {1, kMostWindow},
      "Tokens of a prompt that are placed at once, at most (seqswa)");
  add("--quantum-ms", flags->options.quantum_ms, {1, kMostQuantumMs},
      "Milliseconds of trace time in one step (sched)");
  const auto add_limit = [&](const char* name, std::int64_t& to, const char* param, const char* help) {
    add(name, to, param_range(scheduling::engine_descriptors(), "vllm-v1", param), help);
  };
  add_limit("--token-budget", scheduler.token_budget, "token_budget", "Tokens computed in one step at most");
  add_limit("--max-seqs", scheduler.max_seqs, "max_seqs", "Requests running at once at most");
  add_limit("--long-prefill-threshold", scheduler.long_prefill_threshold, "long_prefill_threshold",
            "Tokens of one prompt in one step at most; 0 = no limit");
  add_limit("--max-model-len", scheduler.max_model_len, "max_model_len", "Longer requests are rejected");
  command->add_flag("--no-prefix-cache", flags->no_prefix_cache, "No block is found again");
  command->add_flag("--step-by-step", flags->options.step_by_step,
                    "Use the naive engine: slower, with the same result");
  run_as(*command, outcome, [flags, replacement] {
    return replacement.given() ? replacement.run(flags->trace, flags->import) : run(*flags);
  });
}

}  // namespace kvplan::cli
