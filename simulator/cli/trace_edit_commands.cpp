#include "simulator/cli/trace_edit_commands.h"

#include <cmath>
#include <memory>

#include "simulator/cli/import_options.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/trace_input.h"
#include "simulator/cli/trace_output.h"
#include "traces/edit/edits.h"
#include "traces/record/memory_stream.h"

namespace kvplan::cli {
namespace {

constexpr double kMostSeconds = 9e9;  // as nanoseconds they fit into 64 bits

struct EditOptions {
  std::vector<std::string> inputs;
  std::string output;
  traces::ImportOptions import;
  double from_s{0}, to_s{kMostSeconds};
  std::int64_t requests{1000}, seed{0};
  std::string start_rate;
  std::string rate{"1"}, input_length{"1"}, output_length{"1"};
  std::string over{"auto"}, how{"even"};
};

Status write_edited(Result<traces::Trace> edited, const EditOptions& options) {
  if (!edited.ok()) return std::move(edited).error().at_file(options.inputs.front());
  traces::MemoryStream stream(edited.value());
  return write_trace(stream, options.output);
}

Status check_paths(const EditOptions& options) {
  KVPLAN_TRY_DO(check_apart(options.inputs, {options.output}));
  return check_trace_output(options.output);
}

Result<traces::Trace> only_input(const EditOptions& options) {
  KVPLAN_TRY_DO(check_paths(options));
  return read_trace(options.inputs.front(), options.import);
}

std::int64_t ns_of(double seconds) {
  return std::llround(seconds * static_cast<double>(kNsPerSecond));
}

Status run_window(const EditOptions& options) {
  if (options.from_s >= options.to_s) return bad_input("expected a time after --from").at_field("--to");
  KVPLAN_TRY(const traces::Trace trace, only_input(options));
  return write_edited(traces::window_of(trace, ns_of(options.from_s), ns_of(options.to_s)), options);
}

Status run_sample(const EditOptions& options) {
  KVPLAN_TRY(const traces::Trace trace, only_input(options));
  return write_edited(traces::sample_of(trace, options.requests, static_cast<std::uint64_t>(options.seed)),
                      options);
}

Result<Fraction> fraction_of(const std::string& text, const char* option) {
  Result<Fraction> fraction = parse_fraction(text);
  if (!fraction.ok()) return std::move(fraction).error().at_field(option);
  return fraction;
}

Status run_scale(const EditOptions& options) {
  traces::Scaling scaling;
  KVPLAN_TRY(scaling.rate, fraction_of(options.rate, "--rate"));
  KVPLAN_TRY(scaling.input, fraction_of(options.input_length, "--input-length"));
  KVPLAN_TRY(scaling.output, fraction_of(options.output_length, "--output-length"));
  KVPLAN_TRY(const traces::Trace trace, only_input(options));
  return write_edited(traces::scaled(trace, scaling), options);
}

Status run_start(const EditOptions& options) {
  KVPLAN_TRY(const Fraction rate, fraction_of(options.start_rate, "--rate"));
  KVPLAN_TRY(const traces::Trace trace, only_input(options));
  return write_edited(traces::started(trace, rate, static_cast<std::uint64_t>(options.seed)), options);
}

Status run_spread(const EditOptions& options) {
  traces::Spreading spreading;
  spreading.even = options.how == "even";
  spreading.seed = static_cast<std::uint64_t>(options.seed);
  if (options.over == "next") {
    spreading.over = traces::SpreadOver::kNext;
  } else if (options.over != "auto") {
    spreading.over = traces::SpreadOver::kGiven;
    const auto ns = read_whole_number(options.over, {1, INT64_MAX});
    if (!ns.ok())
      return not_expected("auto, next or a positive number of nanoseconds", options.over).at_field("--over");
    spreading.over_ns = ns.value();
  }
  KVPLAN_TRY(const traces::Trace trace, only_input(options));
  return write_edited(traces::spread_out(trace, spreading), options);
}

Status run_merge(const EditOptions& options) {
  KVPLAN_TRY_DO(check_paths(options));
  std::vector<traces::Trace> traces;
  for (const std::string& path : options.inputs) {
    KVPLAN_TRY(traces::Trace trace, read_trace(path, options.import));
    traces.push_back(std::move(trace));
  }
  std::vector<const traces::Trace*> all;
  all.reserve(traces.size());
  for (const traces::Trace& trace : traces) all.push_back(&trace);
  KVPLAN_TRY(const traces::Trace merged, traces::merged(all, options.inputs));
  traces::MemoryStream stream(merged);
  return write_trace(stream, options.output);
}

}  // namespace

void add_trace_edits(Command& trace, Outcome& outcome) {
  const auto make = [&](const char* name, const char* help, Status (*action)(const EditOptions&),
                        int inputs) {
    auto options = std::make_shared<EditOptions>();
    Command* const command = trace.add_subcommand(name, help);
    Option* const files =
        command->add_option("TRACE", options->inputs, "A .kvt or any importable file, plain, .gz or .zst");
    files->required()->expected(inputs);
    command
        ->add_option("-o,--output", options->output,
                     "The .kvt, .csv or .jsonl to write; its ending decides the format")
        ->required();
    add_import_options(*command, options->import);
    run_as(*command, outcome, [action, options] { return action(*options); });
    return std::pair(command, options);
  };
  auto [window, window_options] =
      make("window", "Keep the requests that arrive between two times, counted from the first arrival",
           run_window, 1);
  add_number(*window, "--from", window_options->from_s, {0, kMostSeconds}, "Begin in seconds, inclusive");
  add_number(*window, "--to", window_options->to_s, {0, kMostSeconds}, "End in seconds, exclusive");

  auto [sample, sample_options] =
      make("sample",
           "Draw requests at random without replacement; a trace with sessions is sampled by whole sessions",
           run_sample, 1);
  add_whole_number(*sample, "-n,--requests", sample_options->requests, {1, INT64_MAX},
                   "Smallest number of requests to draw");
  add_whole_number(*sample, "--seed", sample_options->seed, {0, INT64_MAX}, "Seed of the sample");

  auto [scale, scale_options] = make("scale", "Change the arrival rate and the lengths", run_scale, 1);
  scale->add_option("--rate", scale_options->rate, "Factor on the arrival rate (p/q or decimal)");
  scale->add_option("--input-length", scale_options->input_length, "Factor on prompt lengths");
  scale->add_option("--output-length", scale_options->output_length, "Factor on output lengths");

  auto [start, start_options] = make(
      "start", "Give start times to sessions that have no common clock, by a Poisson process", run_start, 1);
  start->add_option("--rate", start_options->start_rate, "Session starts per second (p/q or decimal)")
      ->required();
  add_whole_number(*start, "--seed", start_options->seed, {0, INT64_MAX}, "Seed of the start times");

  auto [spread, spread_options] =
      make("spread", "Spread requests that share a rounded timestamp over the time until the next one",
           run_spread, 1);
  spread
      ->add_option("--over", spread_options->over,
                   "Width of the spread: auto (the clock's tick, which is the greatest common divisor of all "
                   "times), next (until the next timestamp in the trace, for recorders that write in "
                   "batches), or a number of nanoseconds")
      ->capture_default_str();
  spread
      ->add_option("--how", spread_options->how,
                   "even: equal steps, the first request keeps its time; uniform: times drawn at random")
      ->one_of({"even", "uniform"})
      ->capture_default_str();
  add_whole_number(*spread, "--seed", spread_options->seed, {0, INT64_MAX}, "Seed of --how uniform");

  make("merge",
       "Merge several traces, aligned at their first arrivals; prefixes and sessions of different traces "
       "stay distinct",
       run_merge, -1);
}

}  // namespace kvplan::cli
