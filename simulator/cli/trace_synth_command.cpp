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
  // Which were given.
  bool requests{false}, duration{false}, lengths{false}, prefixes{false}, turns{false};
};

Status run_service(const SynthFlags& flags) {
  if (flags.duration || flags.lengths || flags.prefixes || flags.turns)
    return bad_input("is needed for --lengths, --prefixes, --turns and --duration").at_field("--arrivals");
  const Catalogue catalogue = traces::synth_descriptors("service");
  KVPLAN_TRY(const Choice choice,
             parse_component(flags.service.empty() ? "chat" : flags.service, "service", catalogue));
  KVPLAN_TRY(const traces::Trace trace, traces::service_entry(choice).make(choice, flags.common));
  traces::MemoryStream stream(trace);
  return write_trace(stream, flags.output);
}

Status run_parts(const SynthFlags& flags) {
  if (!flags.service.empty()) return bad_input("goes without --arrivals").at_field("--service");
  traces::SynthOptions parts = flags.parts;
  if (flags.requests) parts.requests = flags.common.requests;
  if (flags.duration) parts.duration_ns = std::llround(flags.duration_s * static_cast<double>(kNsPerSecond));
  if (flags.duration && parts.duration_ns == 0)
    return bad_input("expected at least a nanosecond").at_field("--duration");
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
  Command* const command = trace.add_subcommand(
      "synth",
      "Make up a trace, seeded: by arrivals, lengths, shared beginnings and turns, or a service as a whole");
  command
      ->add_option("-o,--output", flags->output,
                   "The .kvt, .csv or .jsonl to write; its ending says the format")
      ->required();
  const auto component = [&](const char* name, std::string& to, const char* help) {
    return command->add_option(name, to, help);
  };
  component("--arrivals", flags->parts.arrivals,
            "When requests arrive, such as poisson:rate_per_s=5 (kvplan list arrivals)");
  const Option* const lengths =
      component(
          "--lengths", flags->parts.lengths,
          "How long they are, such as empirical:file=TRACE; given: as the arrivals have them (kvplan list "
          "lengths)")
          ->default_str(flags->parts.lengths);
  const Option* const prefixes =
      component("--prefixes", flags->parts.prefixes,
                "What prompts share, such as groups:groups=20,tokens=1000 (kvplan list prefixes)")
          ->default_str(flags->parts.prefixes);
  const Option* const turns =
      component("--turns", flags->parts.turns,
                "What follows a request, such as sessions:turns=4 (kvplan list turns)")
          ->default_str(flags->parts.turns);
  component("--service", flags->service, "Without --arrivals: a made-up service (kvplan list service)")
      ->default_str("chat");
  const Option* const requests = add_whole_number(
      *command, "--requests", {1, INT32_MAX}, "How many", "1500 of a service, else until --duration is over",
      [options = flags.get()](std::int64_t count) { options->common.requests = count; });
  const Option* const duration = add_number(*command, "--duration", flags->duration_s, {0, 9e9},
                                            "Only what arrives in this many seconds")
                                     ->default_str("");
  add_whole_number(*command, "--seed", flags->common.seed, {0, INT64_MAX}, "Another seed, another trace");
  add_whole_number(*command, "--block", flags->common.block_tokens, {1, std::int64_t{1} << 20},
                   "Tokens of one prefix id");
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
