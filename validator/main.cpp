// kvplan-validate: replays on real memory what the simulator says, and compares; measures a real device. Exit codes:
// 0 equal, or measured; 1 something differs; 2 bad input, or memory or a device that is not available; 3 interrupted.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <sstream>
#include <string>

#include "simulator/base/file_output.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/base/program.h"
#include "simulator/base/read_files.h"
#include "simulator/io/log/reader.h"
#include "validator/device/device.h"
#include "validator/kernels/stages.h"
#include "validator/probe/probe.h"
#include "validator/replay/fleet_replay.h"
#include "validator/replay/replay.h"

namespace kvplan::validator {
namespace {

struct ProbeArguments {
  std::string backend{"cuda"};  ///< there is no other
  std::string output;
  bool quick{false};
};

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

Result<std::unique_ptr<Backend>> make_backend(const std::string& name) {
  if (name == "host") return make_host_backend();
  if (name == "fake") return make_device_backend(make_fake_device());
  KVPLAN_TRY(std::unique_ptr<Device> device, make_cuda_device());
  return make_device_backend(std::move(device));
}

/// Which replicas have different bytes, or else different claims; or that only the sums differ. Empty if there is one
/// replica.
std::string place_of(const Report& report) {
  std::string numbers;
  for (std::size_t i = 0; i < report.replicas.size(); ++i) {
    const Report& own = report.replicas[i];
    const bool differs = report.byte_mismatches > 0 ? own.byte_mismatches > 0 : !own.clean();
    if (differs) numbers += (numbers.empty() ? "" : ", ") + std::to_string(i);
  }
  if (!numbers.empty())
    return (numbers.find(',') == std::string::npos ? " of replica " : " of replicas ") + numbers;
  return report.replicas.empty() ? "" : " over all replicas";
}

std::string verdict(const Report& report) {
  if (report.clean()) return "equal";
  if (report.contradiction) return "events contradict each other";
  return report.byte_mismatches > 0 ? "bytes" + place_of(report) + " differ"
                                    : "claims" + place_of(report) + " differ";
}

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
  json.member("verdict", verdict(report));
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
    // of one replica among many; printed if it differs
    const bool of_one = q.name.starts_with("replicas[");
    if (of_one && q.predicted == q.measured) continue;
    text += line(q.name, std::to_string(q.predicted) + " predicted, " + std::to_string(q.measured) +
                             " measured, " + q.unit);
  }
  text += line("verdict", verdict(report));
  if (!report.clean()) text += line("first problem", report.first_problem);
  return text;
}

Status write_file(const std::string& path, const std::string& text) {
  KVPLAN_TRY(const std::unique_ptr<Output> output, create_file_output(path));
  KVPLAN_TRY_DO(output->write(text));
  return output->commit();
}

/// To its end.
template <class Replaying>
Result<Report> read_into(event_log::Reader& reader, Replaying& replaying) {
  while (true) {
    if (interrupted()) return interrupted_error();
    KVPLAN_TRY(const auto record, reader.next());
    if (!record) return replaying.finish();
    KVPLAN_TRY_DO(replaying.apply(*record));  // after a contradiction the rest is read, for its checksums
  }
}

struct Replayed {
  Report report;
  std::string device;
};

Result<Replayed> replay_one(event_log::Reader& reader, const Arguments& arguments) {
  KVPLAN_TRY(const auto backend, make_backend(arguments.backend));
  auto created = Replay::create(reader.header(), *backend, arguments.replay);
  if (!created.ok()) return std::move(created).error().at_file(arguments.events);
  KVPLAN_TRY(Report report, read_into(reader, *created.value()));
  return Replayed{std::move(report), backend->device()};
}

Result<Replayed> replay_several(event_log::Reader& reader, const Arguments& arguments) {
  bool made = true;  // otherwise the log has no part in the error
  const auto make = [&]() -> Result<std::unique_ptr<Backend>> {
    auto backend = make_backend(arguments.backend);
    made = backend.ok();
    return backend;
  };
  auto created = FleetReplay::create(reader.header(), make, arguments.replay);
  if (!created.ok() && !made) return std::move(created).error();
  if (!created.ok()) return std::move(created).error().at_file(arguments.events);
  KVPLAN_TRY(Report report, read_into(reader, *created.value()));
  return Replayed{std::move(report), created.value()->device()};
}

Result<bool> replay(const Arguments& arguments) {
  KVPLAN_TRY_DO(check_apart({arguments.events}, {arguments.json}));
  KVPLAN_TRY(const auto reader, event_log::Reader::open(arguments.events));
  const event_log::Header& header = reader->header();
  KVPLAN_TRY(const Replayed replayed,
             header.replicas > 1 ? replay_several(*reader, arguments) : replay_one(*reader, arguments));
  const auto& [report, device] = replayed;
  if (!arguments.json.empty()) KVPLAN_TRY_DO(write_file(arguments.json, to_json(report, header, device)));
  if (arguments.json != "-") KVPLAN_TRY_DO(write_file("-", to_text(report, header, device)));
  return report.clean();
}

Result<std::string> time_of_day() {
  std::timespec now{};
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) return bad_input("the system clock cannot be read");
  return utc_text(now.tv_sec);
}

Status probe(const ProbeArguments& arguments) {
  KVPLAN_TRY(const std::unique_ptr<ProbeDevice> device, make_cuda_probe());
  std::unique_ptr<Output> output;  // before anything is measured
  if (!arguments.output.empty()) {
    KVPLAN_TRY(output, create_file_output(arguments.output));
  }
  KVPLAN_TRY(const std::string now, time_of_day());
  KVPLAN_TRY(const Measured measured, measure(*device, {.quick = arguments.quick, .when = now}));
  if (output != nullptr) {
    KVPLAN_TRY_DO(output->write(to_json(measured)));
    KVPLAN_TRY_DO(output->commit());
  }
  if (arguments.output != "-") KVPLAN_TRY_DO(write_file("-", to_text(measured)));
  return Done{};
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
  std::unique_ptr<Machine> machine = make_host_machine(2);
  if (arguments.backend == "cuda") {
    KVPLAN_TRY(machine, make_cuda_machine());
  }
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

/// Words that nothing takes, in order: the library would name them last first.
Error unexpected(const std::vector<std::string>& words) {
  std::string text = words.size() == 1 ? "The following argument was not expected:"
                                       : "The following arguments were not expected:";
  for (const std::string& word : words) text += " " + word;
  return bad_input(text + " (see --help)");
}

void add_probe(CLI::App& app, ProbeArguments& arguments) {
  CLI::App* const command = app.add_subcommand(
      "calibrate", "Measure a CUDA device within a minute, and write the results as a calibration");
  command->add_option("--backend", arguments.backend, "Backend to measure")
      ->check(CLI::IsMember({"cuda"}))
      ->capture_default_str();
  command->add_option("-o,--out", arguments.output, "Calibration file to write; - for standard output");
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

int run(int argc, char** argv) {
  CLI::App app(
      "Replays a simulated run on real memory to check the simulator's predictions, and measures devices and "
      "kernels.",
      "kvplan-validate");
  app.set_version_flag("--version", "kvplan-validate " KVPLAN_VERSION);
  app.require_subcommand(1);
  Arguments arguments;
  ProbeArguments probe_arguments;
  add_replay(app, arguments);
  add_probe(app, probe_arguments);
  KernelArguments kernel_arguments;
  add_kernels(app, kernel_arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    return fail(unexpected(app.remaining(true)));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      return fail(Error{.message = std::string(error.what()) + " (see --help)", .file = {}, .field = {}});
    std::ostringstream text;  // output of --help or --version
    app.exit(error, text, text);
    const Status written = write_file("-", text.str());
    return written.ok() ? 0 : fail(written.error());
  }
  if (app.got_subcommand("calibrate")) {
    const Status measured = probe(probe_arguments);
    return measured.ok() ? 0 : fail(measured.error());
  }
  if (app.got_subcommand("kernels")) {
    const auto good = run_kernels(kernel_arguments);
    if (!good.ok()) return fail(good.error());
    return good.value() ? 0 : static_cast<int>(ErrorKind::kCheckFailed);
  }
  const auto equal = replay(arguments);
  if (!equal.ok()) return fail(equal.error());
  return equal.value() ? 0 : static_cast<int>(ErrorKind::kCheckFailed);
}

}  // namespace
}  // namespace kvplan::validator

int main(int argc, char** argv) {
  kvplan::begin_program();
  return kvplan::validator::run(argc, argv);
}
