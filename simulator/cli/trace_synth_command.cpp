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
  std::int64_t clients{0}, requests_per_client{0};  ///< of a load test; 0: not given
  std::string input_tokens, output_tokens;          ///< LOW..HIGH
  // Which options were given.
  bool requests{false}, duration{false}, lengths{false}, prefixes{false}, turns{false};
};

/// LOW..HIGH, or one length.
Result<std::pair<std::string, std::string>> range_of(const std::string& text, const char* option) {
  const std::size_t dots = text.find("..");
  const std::string low = text.substr(0, dots);
  const std::string high = dots == std::string::npos ? low : text.substr(dots + 2);
  const auto whole = [](const std::string& number) {
    return !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!whole(low) || !whole(high))
    return bad_input("expected LOW..HIGH in tokens, such as 819..1024, found \"" + text + "\"")
        .at_field(option);
  return std::pair(low, high);
}

/// The short forms for load tests, as the parts that they stand for.
Status expand_short_forms(SynthFlags& flags) {
  if ((flags.clients > 0) != (flags.requests_per_client > 0))
    return bad_input("expected both --clients and --requests-per-client")
        .at_field(flags.clients > 0 ? "--requests-per-client" : "--clients");
  if (flags.clients > 0) {
    if (!flags.parts.arrivals.empty() || flags.turns)
      return bad_input("expected no --arrivals and no --turns: clients decide both").at_field("--clients");
    flags.parts.arrivals = "at-once:clients=" + std::to_string(flags.clients);
    flags.parts.turns = "repeat:requests=" + std::to_string(flags.requests_per_client);
  }
  if (flags.input_tokens.empty() != flags.output_tokens.empty())
    return bad_input("expected both --input-tokens and --output-tokens")
        .at_field(flags.input_tokens.empty() ? "--input-tokens" : "--output-tokens");
  if (!flags.input_tokens.empty()) {
    if (flags.lengths)
      return bad_input("expected --lengths or --input-tokens, found both").at_field("--input-tokens");
    KVPLAN_TRY(const auto input, range_of(flags.input_tokens, "--input-tokens"));
    KVPLAN_TRY(const auto output, range_of(flags.output_tokens, "--output-tokens"));
    flags.parts.lengths = "uniform:input_min=" + input.first + ",input_max=" + input.second +
                          ",output_min=" + output.first + ",output_max=" + output.second;
    flags.lengths = true;
  }
  return Done{};
}

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

Status run(SynthFlags flags) {
  KVPLAN_TRY_DO(check_trace_output(flags.output));
  KVPLAN_TRY_DO(expand_short_forms(flags));
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
  add_whole_number(*command, "--clients", flags->clients, {1, 1'000'000},
                   "Clients of a load test: each sends its next request when the last is answered; short for "
                   "--arrivals at-once --turns repeat")
      ->default_str("");
  add_whole_number(*command, "--requests-per-client", flags->requests_per_client, {1, 1'000'000},
                   "Requests of each of the --clients")
      ->default_str("");
  const auto range = [&](const char* name, std::string& to, const char* help) {
    command->add_option(name, to, help)->type_name("LOW..HIGH");
  };
  range("--input-tokens", flags->input_tokens,
        "Prompt lengths, drawn evenly; with --output-tokens short for --lengths uniform");
  range("--output-tokens", flags->output_tokens, "Output lengths, drawn evenly");
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
