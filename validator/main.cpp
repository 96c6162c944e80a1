// kvplan-validate: replays the simulator's log on real memory, and compares; measures a real device. Exit codes:
// 0 equal, or measured; 1 something differs; 2 bad input, or memory or a device that is not available; 3 interrupted.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>

#include "simulator/base/file_output.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/base/option_error.h"
#include "simulator/base/program.h"
#include "simulator/base/read_files.h"
#include "validator/kernels/stages.h"
#include "validator/replay/replay.h"
#include "validator/replay_log/replay_log.h"
#include "validator/run/commands.h"

namespace kvplan::validator {
namespace {

struct KernelArguments {
  std::string backend{"host"};
  std::vector<std::string> stages;
  double seconds{480};
  std::string folder, kernel;
  bool quick{false};
};

struct Arguments {
  std::string events;
  std::string backend{"host"};
  std::string json;
  ReplayOptions replay;
};

void put_counts(JsonWriter& json, const Report& report) {
  json.member("moments", report.moments);
  json.member("byte_mismatches", report.byte_mismatches);
  json.member("place_mismatches", report.place_mismatches);
  json.member("count_mismatches", report.count_mismatches);
}

std::string to_json(const Report& report, const event_log::Header& header, const std::string& device) {
  JsonWriter json;
  json.begin_object();
  json.member("events", report.events);
  put_counts(json, report);
  json.member("full_scan_every", report.full_scan_every);
  json.member("full_scans", report.full_scans);
  json.key("quantities").begin_array();
  for (const Quantity& q : report.quantities) {
    json.begin_object();
    json.member("name", q.name);
    json.member("predicted", q.predicted);
    json.member("measured", q.measured);
    json.member("unit", q.unit);
    json.end_object();
  }
  json.end_array();
  json.member("verdict", verdict_of(report));
  json.key("first_problem");
  report.clean() ? json.null() : json.value(report.first_problem);
  json.member("device", device);
  if (!report.replicas.empty()) {
    json.key("replicas").begin_array();
    for (const Report& own : report.replicas) {
      json.begin_object();
      json.member("events", own.events);
      put_counts(json, own);
      json.end_object();
    }
    json.end_array();
  }
  json.key("log").begin_object();
  json.member("allocator", header.allocator);
  json.member("trace_digest", header.trace_digest);
  json.member("writer", header.writer);
  json.end_object();
  json.end_object();
  return json.take();
}

std::string to_text(const Report& report, const event_log::Header& header, const std::string& device) {
  const auto line = [](const std::string& name, const std::string& value) {
    return name + std::string(std::max<std::size_t>(name.size() + 1, 22) - name.size(), ' ') + value + "\n";
  };
  std::string text =
      line("allocator", header.allocator) + line("device", device) +
      line("events replayed", std::to_string(report.events)) +
      line("points in time compared", std::to_string(report.moments) + ", with all of memory recounted at " +
                                          std::to_string(report.full_scans)) +
      line("totals that differ", std::to_string(report.byte_mismatches)) +
      line("blocks at impossible places", std::to_string(report.place_mismatches)) +
      line("counts that differ", std::to_string(report.count_mismatches));
  for (const Quantity& q : report.quantities) {
    // a quantity of one replica among many; printed if it differs
    const bool of_one = q.name.starts_with("replicas[");
    if (of_one && q.predicted == q.measured) continue;
    text += line(q.name, std::to_string(q.predicted) + " predicted, " + std::to_string(q.measured) +
                             " measured, " + q.unit);
  }
  text += line("verdict", verdict_of(report));
  if (!report.clean()) text += line("first problem", report.first_problem);
  return text;
}

Status write_file(const std::string& path, const std::string& text) {
  KVPLAN_TRY(const std::unique_ptr<Output> output, create_file_output(path));
  KVPLAN_TRY_DO(output->write(text));
  return output->commit();
}

Result<bool> replay(const Arguments& arguments) {
  KVPLAN_TRY_DO(check_apart({arguments.events}, {arguments.json}));
  KVPLAN_TRY(const ReplayedLog replayed, replay_log(arguments.events, arguments.backend, arguments.replay));
  const auto& [header, report, device] = replayed;
  if (!arguments.json.empty()) KVPLAN_TRY_DO(write_file(arguments.json, to_json(report, header, device)));
  if (arguments.json != "-") KVPLAN_TRY_DO(write_file("-", to_text(report, header, device)));
  return report.clean();
}

Result<bool> run_kernels(const KernelArguments& arguments) {
  StageOptions options{.folder = arguments.folder,
                       .seconds = arguments.seconds,
                       .stages = {},
                       .kernel = arguments.kernel,
                       .when = {},
                       .quick = arguments.quick};
  for (const std::string& name : arguments.stages) {
    KVPLAN_TRY(const Stage stage, find_stage(name));
    options.stages.push_back(stage);
  }
  KVPLAN_TRY(options.when, time_of_day());
  KVPLAN_TRY(const std::unique_ptr<Machine> machine, make_machine(arguments.backend));
  std::error_code failed;
  std::filesystem::create_directories(arguments.folder, failed);
  if (failed) return bad_input("cannot be made: " + failed.message()).at_file(arguments.folder);
  KVPLAN_TRY_DO(write_file("-", machine->facts().name + "\n"));
  return run_stages(*machine, options, [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  });
}

int fail(const Error& error) {
  std::fprintf(stderr, "kvplan-validate: %s\n", error.to_string().c_str());
  return static_cast<int>(error.kind);
}

/// Error for words that no option takes, in their order: the library would name them in reverse.
Error unexpected(const std::vector<std::string>& words) {
  std::string text = words.size() == 1 ? "The following argument was not expected:"
                                       : "The following arguments were not expected:";
  for (const std::string& word : words) text += " " + word;
  return bad_input(text + " (see --help)");
}

void add_calibrate(CLI::App& app, CalibrateArguments& arguments) {
  CLI::App* const command = app.add_subcommand(
      "calibrate",
      "Measure a machine within a given time, and write the results as a calibration, which runs load "
      "(latency=composed:calibration=FILE); says how well it predicts rows that it has not seen");
  command->add_option("--backend", arguments.backend, "Backend to measure")
      ->check(CLI::IsMember({"host", "cuda", "fake"}))
      ->capture_default_str();
  command->add_option("-o,--out", arguments.output, "Calibration file to write; - for standard output");
  command
      ->add_option("--seconds", arguments.seconds,
                   "Time for kernels; 0: only memory, launches and copies of a CUDA device")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--kernel", arguments.kernel, "Measure this kernel only");
  command->add_flag("--quick", arguments.quick, "Measure fewer sizes and samples, in some seconds");
}

void add_kernels(CLI::App& app, KernelArguments& arguments) {
  CLI::App* const command = app.add_subcommand(
      "kernels",
      "Run the validator's kernels: check their results, time them, and compare with predicted times");
  command->add_option("--backend", arguments.backend, "Backend to run them on")
      ->check(CLI::IsMember({"host", "cuda"}))
      ->capture_default_str();
  command->add_option(
      "--stage", arguments.stages,
      "Stage to run: correctness, coarse, unseen, memory, fine, tune or sanitize. May be given "
      "several times; default: the first five");
  command->add_option("--seconds", arguments.seconds, "Time for all stages together")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  command->add_option("--kernel", arguments.kernel, "Run this kernel only");
  command
      ->add_option("--out", arguments.folder, "Folder for the results; a stage is skipped if its file exists")
      ->required();
  command->add_flag("--quick", arguments.quick, "Take fewer samples");
}

void add_replay(CLI::App& app, Arguments& arguments) {
  CLI::App* const command = app.add_subcommand(
      "replay", "Replay an event log of one or more replicas on real memory, and recount every byte");
  command->add_option("EVENTS", arguments.events, "Event log, written by `kvplan run --events`")->required();
  command->add_option("--backend", arguments.backend, "Backend that provides the memory")
      ->check(CLI::IsMember({"host", "cuda", "fake"}))
      ->capture_default_str();
  command->add_option("--json", arguments.json,
                      "Write the report as JSON to this file; - for standard output");
  command
      ->add_option(
          "--full-scan-every",
          [&arguments](const CLI::results_t& texts) {
            const auto moments = read_whole_number(texts.front(), {0, std::int64_t{1} << 40});
            if (!moments.ok()) throw CLI::ValidationError("--full-scan-every", moments.error().to_string());
            arguments.replay.full_scan_every = moments.value();
            return true;
          },
          "Recount all of memory at every N-th point in time, and only what changed at the others (0: chosen "
          "by the size of memory)")
      ->type_name("N");
}

void add_run(CLI::App& app, RunArguments& arguments) {
  CLI::App* const command =
      app.add_subcommand("run",
                         "Simulate a scenario, replay its memory on a backend, run the kernels of some of "
                         "its steps there, and compare "
                         "bytes, retained sets, errors and times with what was predicted");
  command->add_option("SCENARIO", arguments.input, "Scenario, or a trace in the default scenario")
      ->required();
  command
      ->add_option("--set", arguments.sets, "PATH=VALUE: change one value of the scenario; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--backend", arguments.backend, "Backend that provides memory and runs kernels")
      ->check(CLI::IsMember({"host", "cuda", "fake"}))
      ->capture_default_str();
  command->add_option("--calibration", arguments.calibration,
                      "Predict kernel times from this calibration (default: half of the time goes into one)");
  command->add_option("--seconds", arguments.seconds, "Time for kernels; 0: compare memory alone")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--steps", arguments.steps, "Number of steps to run the kernels of")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--quick", arguments.quick, "Take fewer samples");
  command
      ->add_option(
          "--most-median", arguments.most_median,
          "Greatest median error of decode attention times, as a share; without it times decide nothing")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--most-p90", arguments.most_p90, "The same for the 90th percentile")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--events", arguments.events, "Keep the event log of the run in this file");
  command->add_option("--json", arguments.json,
                      "Write the results as JSON to this file; - for standard output");
  command->add_option("--report", arguments.report, "Write the results in binary form (.kvv)");
  command->add_option("--html", arguments.html, "Write one HTML page with tables and charts");
}

int run(int argc, char** argv) {
  CLI::App app(
      "Replays a simulated run on real memory to check the simulator's predictions, and measures devices and "
      "kernels.",
      "kvplan-validate");
  app.set_version_flag("--version", "kvplan-validate " KVPLAN_VERSION);
  app.require_subcommand(1);
  Arguments arguments;
  CalibrateArguments calibrate_arguments;
  RunArguments run_arguments;
  add_run(app, run_arguments);
  add_replay(app, arguments);
  add_calibrate(app, calibrate_arguments);
  KernelArguments kernel_arguments;
  add_kernels(app, kernel_arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    return fail(unexpected(app.remaining(true)));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      return fail(Error{.message = option_error(error.what()) + " (see --help)", .file = {}, .field = {}});
    std::ostringstream text;  // output of --help or --version
    app.exit(error, text, text);
    const Status written = write_file("-", text.str());
    return written.ok() ? 0 : fail(written.error());
  }
  if (app.got_subcommand("calibrate")) {
    const Status measured = calibrate(calibrate_arguments);
    return measured.ok() ? 0 : fail(measured.error());
  }
  if (app.got_subcommand("kernels")) {
    const auto good = run_kernels(kernel_arguments);
    if (!good.ok()) return fail(good.error());
    return good.value() ? 0 : static_cast<int>(ErrorKind::kCheckFailed);
  }
  const auto equal = app.got_subcommand("run") ? run_and_compare(run_arguments) : replay(arguments);
  if (!equal.ok()) return fail(equal.error());
  return equal.value() ? 0 : static_cast<int>(ErrorKind::kCheckFailed);
}

}  // namespace
}  // namespace kvplan::validator

int main(int argc, char** argv) {
  kvplan::begin_program();
  return kvplan::validator::run(argc, argv);
}
