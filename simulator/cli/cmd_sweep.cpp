// kvplan sweep: one scenario in combinations of varied values, each a row of a database.
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "simulator/cli/cases_input.h"
#include "simulator/cli/command.h"
#include "simulator/cli/database_name.h"
#include "simulator/cli/import_options.h"
#include "simulator/cli/job_output.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/scenario_input.h"
#include "simulator/io/openers.h"
#include "simulator/report/number_text.h"
#include "simulator/scenario/scenario_files.h"
#include "simulator/sweep/database_text.h"
#include "simulator/sweep/sweep.h"

namespace kvplan::cli {
namespace {

struct SweepFlags {
  ScenarioInput input;
  CasesInput cases;
  std::string out, shard{"1/1"};
  int threads{1};
  bool resume{false};
  JobInput jobs;
};

/// Collects where recordings were cut off. Called from any thread that opens a recording.
class CutRecordings {
 public:
  /// Returns `open` with its results watched; this object must outlive it.
  runs::RecordingOpener watch(runs::RecordingOpener open) {
    return [this, open = std::move(open)](const std::string& path) {
      auto recording = open(path);
      if (recording.ok() && !recording.value()->info().cut.empty()) {
        const std::lock_guard lock(mutex_);
        found_.insert(path + ": " + recording.value()->info().cut);
      }
      return recording;
    };
  }
  /// REQUIRES: no thread opens files any longer.
  [[nodiscard]] std::vector<std::string> warnings() const { return {found_.begin(), found_.end()}; }

 private:
  std::mutex mutex_;
  std::set<std::string> found_;
};

/// Shows how many of all cases are done, and when the rest will be done at the rate so far.
class SweepProgress {
 public:
  SweepProgress(std::int64_t done, std::int64_t total)
      : before_(done), done_(done), total_(total), progress_([this] { return line(); }) {}
  void tell() { done_.fetch_add(1, std::memory_order_relaxed); }

 private:
  [[nodiscard]] std::string line() const {
    const std::int64_t done = done_.load(std::memory_order_relaxed);
    std::string text = progress_bar(done, total_) + " of " + report::grouped(total_) + " cases";
    if (done == before_) return text;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    const auto left = static_cast<double>(total_ - done);
    return text + ", " + report::seconds_text(seconds * left / static_cast<double>(done - before_)) + " left";
  }

  std::chrono::steady_clock::time_point begin_{std::chrono::steady_clock::now()};
  std::int64_t before_;
  std::atomic<std::int64_t> done_;
  std::int64_t total_;
  Progress progress_;  // declared last, because its thread reads the others
};

Result<sweep::Sweep> prepare(const SweepFlags& flags, core::RunControl& control, CutRecordings& cut) {
  sweep::Request request;
  KVPLAN_TRY(request.shard, sweep::parse_shard(flags.shard));
  KVPLAN_TRY(runs::Combinations cases, read_cases(flags.cases));
  request.cases = std::make_shared<const runs::Combinations>(std::move(cases));
  request.chosen = chosen_text(flags.cases);
  KVPLAN_TRY(request.settings, read_settings(flags.input));
  runs::InputReaders readers = input_readers(flags.input.import);
  readers.open_recording = cut.watch(std::move(readers.open_recording));
  request.inputs = std::make_shared<runs::Inputs>(std::move(readers));
  request.files = runs::files_of;
  request.digest = [](const std::string& path) { return io::content_digest(path, interrupted); };
  request.check = [&](const runs::Scenario& scenario) {
    return check_apart(runs::files_of(scenario), {flags.out, flags.jobs.sbatch, flags.jobs.kubernetes});
  };
  request.control = &control;
  return sweep::Sweep::prepare(std::move(request));
}

Status run(const SweepFlags& flags, const Command& command) {
  if (flags.jobs.shards > 0 && !flags.jobs.any())
    return bad_input("expected --sbatch or --kubernetes, which --shards needs");
  KVPLAN_TRY_DO(check_apart({flags.input.path, flags.cases.file},
                            {flags.out, flags.jobs.sbatch, flags.jobs.kubernetes}));
  KVPLAN_TRY_DO(check_database_name(flags.out, flags.resume));
  core::RunControl control;
  control.stop_asked = interrupted;
  CutRecordings cut;
  KVPLAN_TRY(const sweep::Sweep sweep, prepare(flags, control, cut));
  if (flags.jobs.any()) return write_jobs(command, flags.jobs, flags.out, flags.threads);
  KVPLAN_TRY(sweep::Database database, flags.resume ? sweep::Database::resume(flags.out, sweep.head())
                                                    : sweep::Database::create(flags.out, sweep.head()));
  KVPLAN_TRY(const std::int64_t done, database.done());
  sweep::SweepOptions options;
  options.threads = flags.threads;
  options.control = &control;
  std::optional<SweepProgress> progress;
  progress.emplace(done, sweep.head().share);
  options.on_case = [&] { progress->tell(); };
  const Status status = sweep::run_sweep(sweep, database, options);
  progress.reset();
  print_warnings(cut.warnings());
  KVPLAN_TRY_DO(status);
  KVPLAN_TRY(const std::string text, sweep::database_text(database));
  return write_text("-", text);
}

}  // namespace

void add_sweep(Command& app, Outcome& outcome) {
  Command* const command = app.add_subcommand(
      "sweep", "Run all combinations of varied values, and store one database row per case");
  auto flags = std::make_shared<SweepFlags>();
  add_scenario_options(*command, flags->input);
  add_cases_options(*command, flags->cases);
  command->add_option("--out", flags->out, "The SQLite database to write; it must not exist yet")->required();
  add_whole_number(*command, "--threads", flags->threads, {1, 1024},
                   "Cases that run at once; the results do not depend on it");
  command->add_option("--shard", flags->shard,
                      "K/N: run only shard K of N, K from 1: every N-th case from the K-th on; `kvplan "
                      "merge` joins the databases");
  command->add_flag("--resume", flags->resume,
                    "Continue an existing database: finished cases stay, only the others run");
  add_job_options(*command, flags->jobs);
  run_as(*command, outcome, [flags, command] { return run(*flags, *command); });
}

}  // namespace kvplan::cli
