// The arithmetic between observers and a result: latency statistics, memory means, sums over replicas.
#pragma once

#include <optional>
#include <vector>

#include "simulator/observe/integral.h"
#include "simulator/plan/run.h"

namespace kvplan::plan {

/// Fills what follows from the records: counts, tokens, latencies, targets met. Takes the records into the
/// result.
void summarize_requests(const core::Workload& workload, std::vector<observe::RequestRecord> records,
                        const Scenario& scenario, RunResult& result);

/// What a replica's ledger and overlays came to, in counts.
struct MemoryCounts {
  std::array<Wide, observe::kStates> cell_ticks{};
  std::array<Wide, observe::kOverlays> overlay_ticks{};
  SimTime peak_time{};
  observe::StateCounts peak_cells{};
  observe::OverlayCounts peak_overlays{};
  // By kind of group, where layers lie in groups:
  std::vector<std::array<Wide, observe::kStates>> kind_ticks{};
  std::vector<observe::StateCounts> peak_kinds{};
};

/// The integrals cover the makespan; where that is 0 there are no means.
MemorySummary summarize_memory(const core::MemoryLayout& layout, const MemoryCounts& counts, Ticks makespan);

/// Memory, batch and throughput of the fleet from those of its replicas and the makespan.
void sum_replicas(RunResult& result);

/// Bytes of live tokens that tensor parallelism stores again, on all ranks together: beside the states. Absent where no
/// time passed, or nothing ran.
std::optional<double> replicated_mean_bytes(const RunResult& result);
std::optional<std::int64_t> replicated_peak_bytes(const RunResult& result);

/// When a replica's available memory, batch or holes changed: after each pass, and where it falls idle.
class ChangeLog final : public observe::LedgerSink {
 public:
  struct Change {
    SimTime time;
    std::int64_t available;
    std::int64_t running;
  };
  /// Holes during a series of steps: cells, and what each step adds.
  struct Holes {
    SimTime begin;
    core::StepSeries series;
    std::int64_t cells;
    std::int64_t growth;
  };
  void on_span(const observe::LedgerSpan& span) override;
  void on_pass(SimTime time, const observe::StateCounts& cells, std::int64_t running) override;
  void on_end(SimTime time, const observe::StateCounts& cells) override;
  [[nodiscard]] const std::vector<Change>& changes() const { return changes_; }
  [[nodiscard]] const std::vector<Holes>& holes() const { return holes_; }

 private:
  std::vector<Change> changes_;
  std::vector<Holes> holes_;  // empty while there never was one
};

/// The most cells that are holes at one instant, over several replicas.
std::int64_t most_holes_at_once(const std::vector<const ChangeLog*>& logs);

/// Over several replicas, the earliest moment of least available memory in sum, and the largest sum of
/// batches. At one time all replicas' passes count before the sum is looked at.
class PeakFinder {
 public:
  /// `whole`: cells that are available before the replica has run.
  void add(const ChangeLog& log, std::int64_t whole) {
    logs_.push_back(&log.changes());
    whole_.push_back(whole);
  }
  void find();
  [[nodiscard]] SimTime peak_time() const { return peak_time_; }
  [[nodiscard]] std::int64_t max_running() const { return max_running_; }

 private:
  std::vector<const std::vector<ChangeLog::Change>*> logs_;
  std::vector<std::int64_t> whole_;
  SimTime peak_time_{};
  std::int64_t max_running_{0};
};

/// The state during the step (or pause) that covers one moment: of several that begin by then, the last.
class StateAt final : public observe::LedgerSink {
 public:
  explicit StateAt(SimTime moment) : moment_(moment) {}
  void on_span(const observe::LedgerSpan& span) override;
  void on_pass(SimTime time, const observe::StateCounts& cells, std::int64_t /*running*/) override {
    if (time <= moment_) cells_ = cells;
  }
  [[nodiscard]] const observe::StateCounts& cells() const { return cells_; }

 private:
  SimTime moment_;
  observe::StateCounts cells_{};
};

}  // namespace kvplan::plan
