// Runs by the thousand: each case is a scenario on a trace and what is wanted of it; its outcome is handed out as soon
// as it is there, and nobody holds it here. Comparisons, sweeps and the window run their cases this way.
#pragma once

#include "simulator/study/batch.h"
#include "simulator/study/inputs.h"

namespace kvplan::plan {

/// What is wanted beside the report, and takes memory.
struct Wanted {
  /// Even: a timeline of each replica of at most so many bins of one width (RunOptions::timeline_joined). 0: none.
  std::int64_t timeline_bins{0};
  /// What is by request; without it memory does not grow with requests x cases.
  bool requests{false};
};

struct Case {
  Scenario scenario;
  TracePtr trace;
  Wanted wanted{};
};

/// Makes the case of a number, or says why there is none.
using CaseMaker = std::function<Result<Case>(std::int64_t number)>;

/// Makes a case and runs it. Errors are in the outcome: those of the maker and of `run_scenario`, too little memory,
/// and interrupted where `control`, which may be null, wants to stop before the case is made.
Outcome run_case(std::int64_t number, const CaseMaker& make, const Openers& openers,
                 core::RunControl* control);
/// Requests that it will finish, as requests_to_serve has them.
[[nodiscard]] std::int64_t requests_to_serve(const Case& one);

/// As Batch, with cases for its pieces.
struct Cases {
  int threads{1};
  core::RunControl* control{nullptr};
  Openers openers;
  std::function<Result<std::optional<std::int64_t>>()> next;
  CaseMaker make;  ///< called from several threads, and again where the case was starved
  std::function<Status(Outcome&&)> done;
  std::function<Status()> idle;
};

/// As run_batch.
Status run_cases(const Cases& cases);

}  // namespace kvplan::plan
