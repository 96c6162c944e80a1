// A report file as the run that it tells of: its numbers, its scenario as settings, and its timeline bin by bin. For
// programs that show a finished run.
#pragma once

#include <functional>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/results/report.h"
#include "simulator/run/run_summary.h"
#include "traces/io/input.h"

namespace kvplan::io {

struct ReportedRun {
  /// Written again, it is the same report, if that has all keys of this version (what a former one has not is 0 here).
  plan::RunSummary run;
  std::vector<plan::Setting> settings;  ///< of its scenario, with their origins
};

/// One bin of the replica `replica`, in the order of the file: replicas ascend, the bins of each begin at 0
/// ns and follow each other. An error ends the reading; it becomes one of the file's.
using BinVisitor = std::function<Status(std::int64_t replica, const plan::BinNumbers& bin)>;

/// A binary report; one in JSON has no timeline. Every number that `visit` gets is one that a run can have:
/// least <= greatest, neither negative nor above the capacity (states), means between them, no time beyond
/// 2^52 ns, no capacity beyond 2^56 bytes. Errors carry the file, and byte or key where known: damage, a
/// scenario that this version does not know, rows that are not the twelve of this version.
Result<ReportedRun> read_reported_run(traces::Input& input, const BinVisitor& visit);

}  // namespace kvplan::io
