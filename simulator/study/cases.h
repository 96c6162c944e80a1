// Runs cases by the thousand. Each case is a scenario on a trace, with the results that are wanted; its outcome is
// passed on at once and not kept here. Comparisons, sweeps and the desktop program run their cases this way.
#pragma once

#include "simulator/study/batch.h"
#include "simulator/study/inputs.h"
#include "simulator/study/parting.h"

namespace kvplan::runs {

/// Results that are wanted in addition to the report, and take memory.
struct Wanted {
  /// Even: a timeline of each replica with at most this many bins of one width (RunOptions::timeline_joined). 0:
  /// none.
  std::int64_t timeline_bins{0};
  /// Results by request; without them memory does not grow with requests x cases.
  bool requests{false};
  /// Where the decisions of the schedulers go; null: they are not recorded.
  std::shared_ptr<Decided> decided{};
};

struct Case {
  Scenario scenario;
  TracePtr trace;
  Wanted wanted{};
};

/// Makes the case with this number, or returns the error.
using CaseMaker = std::function<Result<Case>(std::int64_t number)>;

/// Makes a case and runs it. Errors are in the outcome: those of the maker and of `run_scenario`, too little memory,
/// and interrupted if `control` (may be null) wants to stop before the case is made.
Outcome run_case(std::int64_t number, const CaseMaker& make, const Openers& openers,
                 core::RunControl* control);
/// Number of requests that the case will finish, as in requests_to_serve.
[[nodiscard]] std::int64_t requests_to_serve(const Case& one);

/// Like Batch, with cases as pieces.
struct Cases {
  int threads{1};
  core::RunControl* control{nullptr};
  Openers openers;
  std::function<Result<std::optional<std::int64_t>>()> next;
  CaseMaker make;  ///< called from several threads, and again if the case got no memory
  std::function<Status(Outcome&&)> done;
  std::function<Status()> idle;
};

/// Like run_batch.
Status run_cases(const Cases& cases);

}  // namespace kvplan::runs
