#include "simulator/cli/trace_synth_command.h"

#include <cmath>
#include <memory>

#include "simulator/base/units.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/trace_input.h"
#include "simulator/cli/trace_output.h"
#include "traces/record/memory_stream.h"
#include "traces/synth/services.h"
#include "traces/synth/synth.h"

namespace kvplan::cli {
namespace {

struct SynthFlags {
  std::string output, service;
  traces::SynthOptions parts;
  traces::ServiceOptions common;
  double duration_s{0};
  // Which options were given.
  bool requests{false}, duration{false}, lengths{false}, prefixes{false}, turns{false};
};

Status run_service(const SynthFlags& flags) {
  if (flags.duration || flags.lengths || flags.prefixes || flags.turns)
    return bad_input("expected this option: --lengths, --prefixes, --turns and --duration need it")
        .at_field("--arrivals");
  const Catalogue catalogue = traces::synth_descriptors("service");
  KVPLAN_TRY(const Choice choice,
             parse_component(flags.service.empty() ? "chat" : flags.service, "service", catalogue));
  KVPLAN_TRY(const traces::Trace trace, traces::service_entry(choice).make(choice, flags.common));
  traces::MemoryStream stream(trace);
  return write_trace(stream, flags.output);
}

Status run_parts(const SynthFlags& flags) {
  if (!flags.service.empty())
    return bad_input("expected --service or --arrivals, found both").at_field("--service");
  traces::SynthOptions parts = flags.parts;
  if (flags.requests) parts.requests = flags.common.requests;
  if (flags.duration) parts.duration_ns = std::llround(flags.duration_s * static_cast<double>(kNsPerSecond));
  if (flags.duration && parts.duration_ns == 0)
    return bad_input("expected at least 1 ns").at_field("--duration");
  parts.seed = flags.common.seed;
  parts.block_tokens = flags.common.block_tokens;
  KVPLAN_TRY(const std::vector<std::string> files, traces::synth_files(parts));
  KVPLAN_TRY_DO(check_apart(files, {flags.output}));
  ReadProgress reading(files);
  parts.on_read = reading.hook();
  KVPLAN_TRY(const std::unique_ptr<traces::TraceStream> stream, traces::make_synth(parts));
  reading.end();
  CountedStream counted(*stream, parts.requests);
  return write_trace(counted, flags.output);
}

Status run(const SynthFlags& flags) {
  KVPLAN_TRY_DO(check_trace_output(flags.output));
  return flags.parts.arrivals.empty() ? run_service(flags) : run_parts(flags);
}

}  // namespace

void add_trace_synth(Command& trace, Outcome& outcome) {
  auto flags = std::make_shared<SynthFlags>();
  Command* const command = trace.add_subcommand("synth",
                                                "Generate a trace from a seed: from arrivals, lengths, "
                                                "shared prefixes and turns, or from a whole service");
  command
      ->add_option("-o,--output", flags->output,
                   "The .kvt, .csv or .jsonl to write; its ending decides the format")
      ->required();
  const auto component = [&](const char* name, std::string& to, const char* help) {
    return command->add_option(name, to, help);
  };
  component("--arrivals", flags->parts.arrivals,
            "Arrival process, such as poisson:rate_per_s=5 (kvplan list arrivals)");
  const Option* const lengths = component("--lengths", flags->parts.lengths,
                                          "Prompt and output lengths, such as empirical:file=TRACE; given: "
                                          "those of the arrivals' trace (kvplan list lengths)")
                                    ->default_str(flags->parts.lengths);
  const Option* const prefixes =
      component("--prefixes", flags->parts.prefixes,
                "Shared prefixes of prompts, such as groups:groups=20,tokens=1000 (kvplan list prefixes)")
          ->default_str(flags->parts.prefixes);
  const Option* const turns =
      component("--turns", flags->parts.turns,
                "Later turns of a session, such as sessions:turns=4 (kvplan list turns)")
          ->default_str(flags->parts.turns);
  component("--service", flags->service,
            "Service that generates the whole trace when --arrivals is absent (kvplan list service)")
      ->default_str("chat");
  const Option* const requests =
      add_whole_number(*command, "--requests", {1, INT32_MAX}, "Number of requests",
                       "1500 for a service, else as many as --duration allows",
                       [options = flags.get()](std::int64_t count) { options->common.requests = count; });
  const Option* const duration = add_number(*command, "--duration", flags->duration_s, {0, 9e9},
                                            "Stop after this many seconds of arrivals")
                                     ->default_str("");
  add_whole_number(*command, "--seed", flags->common.seed, {0, INT64_MAX}, "Seed of the generator");
  add_whole_number(*command, "--block", flags->common.block_tokens, {1, std::int64_t{1} << 20},
                   "Tokens per prefix id (block hash)");
  run_as(*command, outcome, [flags, lengths, prefixes, turns, requests, duration] {
    flags->lengths = lengths->given();
    flags->prefixes = prefixes->given();
    flags->turns = turns->given();
    flags->requests = requests->given();
    flags->duration = duration->given();
    return run(*flags);
  });
}

}  // namespace kvplan::cli
