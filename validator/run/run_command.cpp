#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "proto/validation.pb.h"
#include "simulator/base/file_output.h"
#include "simulator/base/read_files.h"
#include "simulator/io/validation_file.h"
#include "simulator/report/number_text.h"
#include "validator/run/commands.h"
#include "validator/run/simulated.h"
#include "validator/run/validation_report.h"

namespace kvplan::validator {
namespace {

/// Larger cases take longer on the host than they are worth.
constexpr std::int64_t kMostHostBytes = std::int64_t{128} << 20;

/// The event log: a file that the user named, or one that is gone afterwards.
class LogFile {
 public:
  explicit LogFile(const std::string& kept) : path_(kept), own_(kept.empty()) {
    if (!own_) return;
    std::error_code none;
    path_ = (std::filesystem::temp_directory_path(none) /
             ("kvplan-validate-" + std::to_string(::getpid()) + ".kve"))
                .string();
  }
  ~LogFile() {
    std::error_code none;
    if (own_) std::filesystem::remove(path_, none);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool own_;
};

Result<std::int64_t> most_bytes_on(Machine& machine) {
  KVPLAN_TRY(const std::int64_t free, machine.free_bytes());
  return machine.facts().toolkit.empty() ? std::min(free / 4, kMostHostBytes) : free / 4;
}

Status measure_kernels(const RunArguments& arguments, const std::string& log, const KernelShape& shape,
                       ValidatedRun& out) {
  KVPLAN_TRY(const std::unique_ptr<Machine> machine, make_machine(arguments.backend));
  out.machine = machine->facts();
  KVPLAN_TRY(const std::int64_t most_bytes, most_bytes_on(*machine));
  KVPLAN_TRY(out.chosen, choose_steps(log, shape, arguments.steps, most_bytes));
  const std::set<std::int64_t> wanted(out.chosen.steps.begin(), out.chosen.steps.end());
  std::vector<LoggedStep> steps;
  KVPLAN_TRY_DO(each_step(log, [&](const LoggedStep& step) -> Status {
    if (wanted.contains(step.index)) steps.push_back(step);
    return Done{};
  }));
  MeasureOptions options{.seconds = arguments.seconds,
                         .quick = arguments.quick,
                         .most_bytes = most_bytes,
                         .calibration_file = arguments.calibration};
  io::Calibration calibration;
  if (!arguments.calibration.empty()) {
    KVPLAN_TRY(const auto input, traces::Input::open(arguments.calibration));
    KVPLAN_TRY(calibration, io::read_calibration(*input));
    options.calibration = &calibration;
    if (calibration.device.name != out.machine.name)
      out.notes.push_back("the calibration is of " + calibration.device.name + ", kernels ran on " +
                          out.machine.name);
  }
  KVPLAN_TRY(out.measured, measure_steps(*machine, std::move(steps), shape, options));
  if (out.measured.calls_left > 0)
    out.notes.push_back(std::to_string(out.measured.calls_left) + " calls were not timed: no time was left");
  if (out.chosen.time_share < 1)
    out.notes.push_back("steps without decoding requests, or too large for this machine, were left out");
  return Done{};
}

std::string command_of(const RunArguments& arguments) {
  std::string text = "kvplan-validate run " + report::shell_quoted(arguments.input);
  for (const std::string& set : arguments.sets) text += " --set " + report::shell_quoted(set);
  text += " --backend " + arguments.backend;
  if (!arguments.calibration.empty()) text += " --calibration " + report::shell_quoted(arguments.calibration);
  return text + " --html " + report::shell_quoted(arguments.html);
}

Status write(const RunArguments& arguments, const ValidatedRun& run) {
  const v1::Validation message = message_of(run);
  std::vector<std::unique_ptr<Output>> outputs;
  const auto add = [&](const std::string& path, const std::string& text) -> Status {
    if (path.empty()) return Done{};
    KVPLAN_TRY(std::unique_ptr<Output> output, create_file_output(path));
    KVPLAN_TRY_DO(output->write(text));
    KVPLAN_TRY_DO(output->finish());
    outputs.push_back(std::move(output));
    return Done{};
  };
  KVPLAN_TRY_DO(add(arguments.json, io::validation_json(message)));
  if (!arguments.html.empty())
    KVPLAN_TRY_DO(add(arguments.html, validation_html(message, command_of(arguments))));
  std::string binary;
  KVPLAN_TRY_DO(io::write_validation(message, [&](std::string_view bytes) -> Status {
    binary += bytes;
    return Done{};
  }));
  KVPLAN_TRY_DO(add(arguments.report, binary));
  const bool quiet = arguments.json == "-" || arguments.html == "-" || arguments.report == "-";
  if (!quiet) KVPLAN_TRY_DO(add("-", validation_text(message)));
  for (const auto& output : outputs) KVPLAN_TRY_DO(output->commit());
  return Done{};
}

}  // namespace

Result<bool> run_and_compare(const RunArguments& arguments) {
  std::vector<std::string> outputs{arguments.json, arguments.html, arguments.report, arguments.events};
  KVPLAN_TRY_DO(check_apart({arguments.input, arguments.calibration}, outputs));
  if (std::count(outputs.begin(), outputs.end(), "-") > 1)
    return bad_input("expected at most one output on standard output");
  const LogFile log(arguments.events);
  ValidatedRun run;
  run.input = arguments.input;
  run.calibration = arguments.calibration;
  run.most_median = arguments.most_median;
  run.most_p90 = arguments.most_p90;
  KVPLAN_TRY(run.when, time_of_day());
  KVPLAN_TRY(Simulated simulated, simulate(arguments.input, arguments.sets, log.path()));
  for (const std::string& warning : simulated.warnings)
    std::fprintf(stderr, "kvplan-validate: warning: %s\n", bad_input(warning).to_string().c_str());
  run.model = std::move(simulated.model);
  run.allocator = std::move(simulated.allocator);
  run.eviction = std::move(simulated.eviction);
  run.format = std::move(simulated.format);
  run.notes = simulated.shape.left_out;
  KVPLAN_TRY(run.replayed, replay_log(log.path(), arguments.backend));
  if (arguments.seconds > 0 && !simulated.shape.attention.empty()) {
    KVPLAN_TRY_DO(measure_kernels(arguments, log.path(), simulated.shape, run));
  } else if (arguments.seconds == 0) {
    run.notes.emplace_back("kernels were not run: --seconds 0");
  }
  KVPLAN_TRY_DO(write(arguments, run));
  return run.good();
}

}  // namespace kvplan::validator
