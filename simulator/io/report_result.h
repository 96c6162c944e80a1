// Reads a report file as a run: its numbers, its scenario as settings, and its timeline bin by bin. For programs that
// show a finished run.
#pragma once

#include <functional>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/results/report.h"
#include "simulator/run/run_summary.h"
#include "traces/io/input.h"

namespace kvplan::io {

struct ReportedRun {
  /// Writing it gives the same report, if that has all keys of this version (keys of older reports that are missing
  /// are 0 here).
  runs::RunSummary run;
  std::vector<runs::Setting> settings;  ///< settings of its scenario, with their origins
};

/// One bin of replica `replica`, in the order of the file: replicas ascend, the bins of each begin at 0 ns and follow
/// each other. An error ends the reading and is reported for the file.
using BinVisitor = std::function<Status(std::int64_t replica, const runs::BinNumbers& bin)>;

/// Reads a binary report (a JSON report has no timeline). Every number passed to `visit` is one that a run can have:
/// least <= greatest, neither negative nor above the capacity (states), means between them, no time beyond 2^52 ns,
/// no capacity beyond 2^56 bytes. Errors have the file, and byte or key if known: damaged bytes, a scenario that this
/// version does not know, rows other than the twelve of this version.
Result<ReportedRun> read_reported_run(traces::Input& input, const BinVisitor& visit);

}  // namespace kvplan::io
