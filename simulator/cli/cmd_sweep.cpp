// kvplan sweep: one scenario in combinations of varied values, each a row of a database.
#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "simulator/cli/cases_input.h"
#include "simulator/cli/command.h"
#include "simulator/cli/import_options.h"
#include "simulator/cli/job_output.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/scenario_input.h"
#include "simulator/cli/sweep_output.h"
#include "simulator/io/attention_json.h"
#include "simulator/io/head_scores.h"
#include "simulator/io/measured_steps.h"
#include "simulator/io/model_file.h"
#include "simulator/io/price_file.h"
#include "simulator/plan/scenario_files.h"
#include "simulator/report/number_text.h"
#include "simulator/sweep/digest.h"
#include "simulator/sweep/sweep.h"
#include "traces/io/input.h"

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

/// What files give, read once for each name whatever the number of cases and threads.
template <class Value>
class OpenedOnce {
 public:
  template <class Open>
  Result<Value> open(const std::string& name, const Open& open) {
    const std::lock_guard lock(mutex_);
    auto found = opened_.find(name);
    if (found == opened_.end()) found = opened_.emplace(name, open()).first;
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Result<Value>> opened_;
};

struct Opened {
  OpenedOnce<std::shared_ptr<const attention::Recording>> recordings;
  std::set<std::string> cut;  ///< of recordings that were, where; written while one is opened
  OpenedOnce<model::ModelShape> models;
  OpenedOnce<plan::MeasuredSteps> steps;
  OpenedOnce<plan::PriceList> prices;
  OpenedOnce<attention::HeadTable> scores;
};

Result<std::string> digest_of(const std::string& path) {
  KVPLAN_TRY(const auto bytes, traces::open_bytes(path));
  sweep::Digest digest;
  std::array<char, 65536> room;
  while (true) {
    KVPLAN_TRY(const std::size_t got, bytes->read(room.data(), room.size()));
    if (got == 0) return digest.text();
    digest.add({room.data(), got});
  }
}

/// Cases done of all, and when the rest will be, at the rate so far.
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
  Progress progress_;  // last: its thread reads the others
};

sweep::SweepOptions options_of(const SweepFlags& flags, core::RunControl& control, Opened& opened) {
  sweep::SweepOptions options;
  options.threads = flags.threads;
  options.control = &control;
  options.open_recording = [&opened](const std::string& path) {
    return opened.recordings.open(path, [&] {
      auto recording = io::open_attention(path);
      if (recording.ok() && !recording.value()->info().cut.empty())
        opened.cut.insert(path + ": " + recording.value()->info().cut);
      return recording;
    });
  };
  options.open_model = [&opened](const std::string& path) {
    return opened.models.open(path, [&] { return io::open_model(path); });
  };
  options.open_steps = [&opened](const std::string& path, std::string_view model) {
    return opened.steps.open(path + '\n' + std::string(model),
                             [&] { return io::open_measured_steps(path, model); });
  };
  options.open_prices = [&opened](const std::string& path) {
    return opened.prices.open(path, [&] { return io::open_prices(path); });
  };
  options.open_scores = [&opened](const std::string& file_or_text) {
    return opened.scores.open(file_or_text, [&] { return io::read_head_scores(file_or_text); });
  };
  return options;
}

Result<sweep::Sweep> prepare(const SweepFlags& flags, core::RunControl& control) {
  sweep::Request request;
  KVPLAN_TRY(request.shard, sweep::parse_shard(flags.shard));
  KVPLAN_TRY(plan::Combinations cases, read_cases(flags.cases));
  request.cases = std::make_shared<const plan::Combinations>(std::move(cases));
  request.chosen = chosen_text(flags.cases);
  KVPLAN_TRY(request.settings, read_settings(flags.input));
  request.read_trace = [&](const plan::Scenario& scenario) {
    return read_trace_of(scenario, flags.input.import);
  };
  request.files = plan::files_of;
  request.digest = digest_of;
  request.check = [&](const plan::Scenario& scenario) {
    return check_apart(plan::files_of(scenario), {flags.out});
  };
  request.control = &control;
  return sweep::Sweep::prepare(std::move(request));
}

Status run(const SweepFlags& flags, const CLI::App& command) {
  if (flags.jobs.shards > 0 && !flags.jobs.any())
    return bad_input("expected --sbatch or --kubernetes with --shards");
  KVPLAN_TRY_DO(check_apart({flags.input.path, flags.cases.file},
                            {flags.out, flags.jobs.sbatch, flags.jobs.kubernetes}));
  KVPLAN_TRY_DO(check_database_name(flags.out, flags.resume));
  core::RunControl control;
  control.stop_asked = interrupted;
  KVPLAN_TRY(const sweep::Sweep sweep, prepare(flags, control));
  if (flags.jobs.any()) return write_jobs(command, flags.jobs, flags.out, flags.threads);
  KVPLAN_TRY(sweep::Database database, flags.resume ? sweep::Database::resume(flags.out, sweep.head())
                                                    : sweep::Database::create(flags.out, sweep.head()));
  KVPLAN_TRY(const std::int64_t done, database.done());
  Opened opened;
  sweep::SweepOptions options = options_of(flags, control, opened);
  std::optional<SweepProgress> progress;
  progress.emplace(done, sweep.head().share);
  options.on_case = [&] { progress->tell(); };
  const Status status = sweep::run_sweep(sweep, database, options);
  progress.reset();
  print_warnings({opened.cut.begin(), opened.cut.end()});
  KVPLAN_TRY_DO(status);
  KVPLAN_TRY(const std::string text, database_text(database));
  return write_text("-", text);
}

}  // namespace

void add_sweep(CLI::App& app, Outcome& outcome) {
  CLI::App* const command =
      app.add_subcommand("sweep", "Run combinations of varied values, each a row of a database");
  auto flags = std::make_shared<SweepFlags>();
  add_scenario_options(*command, flags->input);
  add_cases_options(*command, flags->cases);
  command->add_option("--out", flags->out, "The database (SQLite) that is written; it must not be there yet")
      ->required();
  add_whole_number(*command, "--threads", flags->threads, {1, 1024},
                   "Cases that run at once; the result does not depend on it");
  command->add_option("--shard", flags->shard,
                      "K/N: only the K-th of N shares of the cases, K from 1, that cost about the same CPU "
                      "time; kvplan merge joins "
                      "the databases");
  command->add_flag("--resume", flags->resume,
                    "Go on with the database where it is there: what it has stays, only the rest is run");
  add_job_options(*command, flags->jobs);
  run_as(*command, outcome, [flags, command] { return run(*flags, *command); });
}

}  // namespace kvplan::cli
