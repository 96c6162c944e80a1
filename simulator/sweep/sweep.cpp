#include "simulator/sweep/sweep.h"

#include <array>
#include <chrono>
#include <map>
#include <set>

#include "simulator/base/digest.h"
#include "simulator/base/version.h"
#include "simulator/deployment/deployment.h"
#include "simulator/scenario/scenario_files.h"
#include "simulator/study/cases.h"

namespace kvplan::sweep {
namespace {

bool stops(const core::RunControl* control) {
  return control != nullptr && control->wants_stop();
}

/// The files of all cases, in the order in which they are first met.
class Files {
 public:
  struct File {
    std::string path;
    std::optional<runs::Scenario> reader;  ///< set if the file is a trace
  };
  /// The number of a trace. The same file read with other import options is another trace.
  std::size_t trace(const runs::Scenario& scenario) {
    const auto [found, added] = traces_.try_emplace({scenario.trace, scenario.import}, files_.size());
    if (added) files_.push_back({scenario.trace, scenario});
    return found->second;
  }
  std::size_t other(const std::string& path) {
    const auto [found, added] = others_.try_emplace(path, files_.size());
    if (added) files_.push_back({path, std::nullopt});
    return found->second;
  }
  [[nodiscard]] const std::vector<File>& all() const { return files_; }

 private:
  std::map<std::pair<std::string, traces::ImportOptions>, std::size_t> traces_;
  std::map<std::string, std::size_t> others_;
  std::vector<File> files_;
};

/// Adds the scenario with numbers for its files: file paths do not count, the files' contents are added later.
void add_scenario(Digest& identity, const runs::Scenario& scenario, const std::vector<std::string>& paths,
                  Files& files) {
  const runs::FileMove number = [&](const std::string& path) {
    return '\x01' + std::to_string(path == scenario.trace ? files.trace(scenario) : files.other(path));
  };
  number(scenario.trace);
  for (const std::string& path : paths) number(path);
  const auto fields = runs::scenario_fields();
  for (std::size_t i = 0; i < fields.size(); ++i)
    identity.add_text(runs::with_files_moved(fields[i].path, scenario.texts[i], number));
}

/// Paths of the files that are checked completely when they are read: with a mistake in them no case could run.
struct Lists {
  std::set<std::string> prices, models;

  void add(const runs::Scenario& scenario) {
    if (!scenario.prices.empty()) prices.insert(scenario.prices);
    if (!scenario.model_file.empty()) models.insert(scenario.model_file);
  }
  [[nodiscard]] Status read(const runs::Openers& openers) const {
    for (const std::string& path : prices)
      if (openers.open_prices) KVPLAN_TRY_DO(openers.open_prices(path));
    for (const std::string& path : models)
      if (openers.open_model) KVPLAN_TRY_DO(openers.open_model(path));
    return Done{};
  }
};

/// Figures of a case that could not run: if its engine would not start, only that figure; empty for any other reason.
std::vector<runs::FigureValue> figures_of_failed(const runs::Scenario& scenario,
                                                 const runs::Openers& openers) {
  if (!scenario.derives_pool || (scenario.model == nullptr && scenario.model_file.empty())) return {};
  if (scenario.model == nullptr && !openers.open_model) return {};
  const Result<model::ModelShape> shape = scenario.model != nullptr
                                              ? Result<model::ModelShape>(*scenario.model)
                                              : openers.open_model(scenario.model_file);
  if (!shape.ok()) return {};
  const auto obstacles = runs::obstacles_of(scenario, shape.value(), openers.open_side);
  if (!obstacles.ok() || !obstacles.value() || obstacles.value()->empty()) return {};
  std::vector<runs::FigureValue> figures;
  for (const runs::Figure& figure : runs::figures())
    figures.push_back(figure.name == "fits.starts" ? runs::FigureValue(false) : runs::FigureValue());
  return figures;
}

CaseRow row_of(const Sweep& sweep, const runs::Openers& openers, runs::Outcome&& outcome) {
  CaseRow row{outcome.number, std::move(outcome.error), {}};
  if (outcome.result) {
    for (const runs::Figure& figure : runs::figures()) row.figures.push_back(figure.value(*outcome.result));
  } else if (const auto scenario = sweep.scenario(row.number); scenario.ok() && !outcome.starved) {
    row.figures = figures_of_failed(scenario.value(), openers);
  }
  return row;
}

}  // namespace

Result<Sweep> Sweep::prepare(Request request) {
  Sweep sweep;
  sweep.settings_ = std::move(request.settings);
  sweep.cases_ = std::move(request.cases);
  sweep.inputs_ = std::move(request.inputs);
  runs::ValueCheck values(*sweep.cases_);
  Digest identity;
  Files files;
  Lists lists;
  for (std::int64_t i = 0; i < sweep.cases_->count(); ++i) {
    if (stops(request.control)) return interrupted_error();
    const Result<runs::Scenario> scenario = sweep.scenario(i);
    values.told(i, scenario ? nullptr : &scenario.error());
    if (!scenario) {
      if (sweep.cases_->count() == 1) {
        KVPLAN_TRY_DO(values.slips(sweep.settings_));  // with the place of the value
        return scenario.error();
      }
      identity.add_text("cannot be read");
      continue;
    }
    if (request.check) KVPLAN_TRY_DO(request.check(scenario.value()));
    const std::vector<std::string> paths = request.files(scenario.value());
    sweep.inputs_->meet(paths);
    add_scenario(identity, scenario.value(), paths, files);
    lists.add(scenario.value());
  }
  KVPLAN_TRY_DO(values.slips(sweep.settings_));
  KVPLAN_TRY_DO(lists.read(sweep.inputs_->openers()));

  for (const Files::File& file : files.all()) {
    std::string digest;
    if (file.reader) {
      KVPLAN_TRY(const runs::TracePtr trace, sweep.inputs_->trace(*file.reader));
      digest = trace->digest;
    } else {
      KVPLAN_TRY(digest, request.digest(file.path));
    }
    identity.add_text(digest);
    sweep.head_.inputs.emplace_back(file.path, digest);
  }
  Head& head = sweep.head_;
  head.program = "kvplan " + std::string(kVersion);
  head.identity = identity.text();
  head.cases = sweep.cases_->count();
  head.chosen = std::move(request.chosen);
  head.shard = request.shard;
  head.share = head.cases;
  if (head.shard.count > 1) {
    sweep.share_ = cases_of(head.shard, head.cases);
    head.share = static_cast<std::int64_t>(sweep.share_.size());
    head.dealt = kShardRule;
  }
  head.varies = sweep.cases_->varies();
  for (const runs::Setting& setting : sweep.settings_) head.settings.emplace_back(setting.path, setting.text);
  for (const runs::Figure& figure : runs::figures())
    head.figures.push_back(
        {figure.name, std::string(unit_name(figure.unit)), std::string(runs::better_name(figure.better))});
  return sweep;
}

Result<runs::Scenario> Sweep::scenario(std::int64_t number) const {
  return runs::resolve(cases_->settings(settings_, number));
}

Status run_sweep(const Sweep& sweep, Database& database, const SweepOptions& options) {
  using Clock = std::chrono::steady_clock;
  // between commits: at most this much work is repeated after a kill
  constexpr auto kPeriod = std::chrono::milliseconds(300);
  Clock::time_point kept = Clock::now();
  const auto keep = [&]() -> Status {
    KVPLAN_TRY_DO(database.commit());
    kept = Clock::now();
    return Done{};
  };
  std::int64_t at = 0;
  runs::Cases cases;
  cases.threads = options.threads;
  cases.control = options.control;
  cases.openers = sweep.inputs().openers();
  cases.next = [&]() -> Result<std::optional<std::int64_t>> {
    while (at < sweep.head().share) {
      const std::int64_t number = sweep.case_of_share(at++);
      KVPLAN_TRY(const bool has, database.has(number));
      if (!has) return std::optional(number);
    }
    return std::optional<std::int64_t>();
  };
  cases.make = [&](std::int64_t number) -> Result<runs::Case> {
    KVPLAN_TRY(runs::Scenario scenario, sweep.scenario(number));
    KVPLAN_TRY(runs::TracePtr trace, sweep.inputs().trace(scenario));
    return runs::Case{std::move(scenario), std::move(trace)};
  };
  // Once the database cannot be written any longer, running cases are stopped.
  const auto or_stop = [&](Status status) {
    if (!status.ok() && options.control != nullptr) options.control->stop = true;
    return status;
  };
  cases.done = [&](runs::Outcome&& outcome) -> Status {
    const CaseRow row = row_of(sweep, cases.openers, std::move(outcome));
    KVPLAN_TRY_DO(or_stop(database.add(row, sweep.cases().at(row.number))));
    if (options.on_case) options.on_case();
    return Clock::now() - kept >= kPeriod ? or_stop(keep()) : Status(Done{});
  };
  cases.idle = [&] { return or_stop(keep()); };
  Status status = runs::run_cases(cases);
  // If the database could not be written, its transaction has been undone.
  if (!status.ok() && status.error().kind != ErrorKind::kInterrupted) return status;
  KVPLAN_TRY_DO(keep());
  return status;
}

}  // namespace kvplan::sweep
