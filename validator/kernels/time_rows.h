// Many cases timed one after the other within a given time.
#pragma once

#include <string>
#include <vector>

#include "validator/kernels/stage_files.h"

namespace kvplan::validator {

/// Seconds of a monotonic clock.
double now_s();

/// How often a case is timed: less often on the host, where samples take long; least often if `quick`.
Sampling usual_sampling(const MachineFacts& machine, bool quick);

/// Takes one case of each kernel in turn, so that a list that is cut short has some of every kernel. `kernel`: only
/// this one; empty: all.
std::vector<Case> cases_in_turn(CaseSet set, const MachineFacts& machine, const std::string& kernel);

struct TimedRows {
  std::vector<TimedRow> rows;
  double drift{
      0};  ///< the first case is timed again every minute and at the end: its largest relative change
  std::int64_t left{0};  ///< cases for which no time was left
};
/// Times cases in their order until `end_s` of now_s(). Errors: the machine's; the user asked to stop.
Result<TimedRows> time_rows(Machine& machine, const std::vector<Case>& all, const Sampling& sampling,
                            double end_s);

}  // namespace kvplan::validator
