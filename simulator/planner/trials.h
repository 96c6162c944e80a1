// Runs the cases of a plan: each once, on any number of threads. Outcomes are kept in memory, and in the store if there
// is one. It also runs other scenarios that a plan needs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "simulator/planner/outcome.h"
#include "simulator/planner/space.h"
#include "simulator/results/figures.h"
#include "simulator/study/cases.h"

namespace kvplan::planner {

/// A case that a plan tried.
struct Step {
  std::int64_t number{0};  ///< number in the space
  std::size_t rate{0};
  Trial trial;
  CaseOutcome outcome;
  bool meets{false};
};

/// "meets the targets", "misses ttft.p99: 3.10 s", "cannot run: ...".
std::string outcome_text(const Step& step, const std::vector<Target>& targets);

/// Stores outcomes beyond the end of the process. Called from one thread.
class Store {
 public:
  virtual ~Store() = default;
  /// The stored outcome of a case; nothing if the case was not run.
  virtual Result<std::optional<CaseOutcome>> find(std::int64_t number) = 0;
  /// Stores a case that was run. `figures`: those of its report; empty if it could not run.
  virtual Status add(const Step& step, const runs::Varied& varied,
                     const std::vector<runs::FigureValue>& figures) = 0;
  /// Stores step `position` of the search, whether the case was run now or before.
  virtual Status note(std::int64_t position, const Step& step, const std::string& outcome) = 0;
  /// Writes what was added, so that it cannot be lost.
  virtual Status commit() = 0;
};

struct TrialOptions {
  const Space* space{nullptr};
  runs::Inputs* inputs{nullptr};
  std::vector<Target> targets;
  runs::TracePtr trace;
  runs::TracePtr slice;  ///< null: no trial asks for slices
  int threads{1};
  core::RunControl* control{nullptr};
  Store* store{nullptr};         ///< may be null
  std::function<void()> on_run;  ///< called after each run; may be empty
};

/// A scenario to run, and the results that are wanted.
struct Job {
  std::vector<runs::Setting> settings;
  runs::TracePtr trace;
  std::int64_t timeline_bins{0};
};

class Trials {
 public:
  explicit Trials(TrialOptions options) : options_(std::move(options)) {}

  /// Outcomes of the trials at a rate, in their order. Errors: interrupted; those of the store.
  Result<std::vector<CaseOutcome>> run(std::size_t rate, const std::vector<Trial>& trials);
  /// The outcome of a case on the whole trace; null: the case was not tried.
  [[nodiscard]] const CaseOutcome* known(std::size_t rate, std::size_t shape, std::int64_t replicas) const;
  /// All steps of the search so far.
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

  /// Results of scenarios, with results for each request; absent if a scenario cannot run. Errors: interrupted.
  Result<std::vector<std::optional<runs::RunResult>>> results(const std::vector<Job>& jobs);
  /// The same with only their outcomes, judged by these targets.
  Result<std::vector<CaseOutcome>> outcomes(const std::vector<Job>& jobs, const std::vector<Target>& targets);

  [[nodiscard]] const TrialOptions& options() const { return options_; }

 private:
  struct Ran {
    CaseOutcome outcome;
    std::vector<runs::FigureValue> figures;
  };
  Result<std::vector<Ran>> run_jobs(const std::vector<Job>& jobs, const std::vector<Target>& targets,
                                    const std::function<Status(std::size_t, Ran&)>& done);
  [[nodiscard]] Job job_of(std::size_t rate, const Trial& trial) const;

  TrialOptions options_;
  std::map<std::int64_t, CaseOutcome> known_;
  std::vector<Step> steps_;
};

}  // namespace kvplan::planner
