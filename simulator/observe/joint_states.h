// What several replicas reach together at one instant: the earliest moment of least available memory and what was
// where then, the largest sum of batches, the most holes.
//
// Each replica tells what it does by itself, and not in step with the others: its spans wait here until nothing that
// happened before can come any more, and are then merged in the order of time. At one moment all replicas' passes
// count before sums are looked at. Memory is that of the spans that wait. Each replica may tell on a thread of its own.
#pragma once

#include <memory>
#include <queue>
#include <vector>

#include "simulator/observe/ledger.h"
#include "simulator/observe/overlays.h"

namespace kvplan::observe {

class JointStates {
 public:
  /// REQUIRES: replicas are alike, and none has run.
  JointStates(std::int64_t replicas, const core::MemoryLayout& layout);
  ~JointStates();
  JointStates(const JointStates&) = delete;
  JointStates& operator=(const JointStates&) = delete;

  /// Where the replica's ledger tells its spans; valid as long as this.
  [[nodiscard]] LedgerSink& sink_of(std::int64_t replica);
  /// How many changes wait.
  [[nodiscard]] std::int64_t waiting() const;
  /// What all replicas come to.
  struct Sum {
    StateCounts cells{};
    std::int64_t running{0};  ///< members of the running lists
  };
  /// After the last passes of a tick. REQUIRES: every replica has told all that begins by then, nothing of it was
  /// merged, and moments do not go back.
  [[nodiscard]] Sum sum_at(SimTime moment);
  /// Merges what begins before `until`. REQUIRES: every replica has told all of that.
  void merge(SimTime until);

  // REQUIRES for all below: every replica has come to its end, and all was merged.

  [[nodiscard]] SimTime peak_time() const { return peak_time_; }
  /// Of a replica at the peak.
  [[nodiscard]] const StateCounts& peak_cells(std::int64_t replica) const;
  [[nodiscard]] const OverlayCounts& peak_overlays(std::int64_t replica) const;
  /// Where layers lie in groups, by place in model::kinds_of; else empty.
  [[nodiscard]] const std::vector<StateCounts>& peak_kinds(std::int64_t replica) const;
  /// Members of all running lists.
  [[nodiscard]] std::int64_t max_running() const { return max_running_; }
  /// Counts in state hole.
  [[nodiscard]] std::int64_t most_holes() const { return most_holes_; }

 private:
  class Track;
  struct Moment {  // of a replica: its next span begins, or the next step of a span with growing holes
    std::int64_t ticks;
    std::int32_t track;
    bool operator>(const Moment& other) const {
      return ticks != other.ticks ? ticks > other.ticks : track > other.track;
    }
  };
  using Moments = std::priority_queue<Moment, std::vector<Moment>, std::greater<>>;

  /// Of all replicas.
  struct Sums {
    std::int64_t taken, running;
  };
  struct PointAt {
    std::int64_t ticks;
    std::int32_t track, point;
    bool operator<(const PointAt& other) const {
      if (ticks != other.ticks) return ticks < other.ticks;
      return track != other.track ? track < other.track : point < other.point;
    }
  };

  void merge_available(std::int64_t until);
  void merge_slice(std::int64_t end, std::vector<std::size_t>& merged);
  void merge_holes(std::int64_t until);

  std::vector<std::unique_ptr<Track>> tracks_;
  Sums now_{0, 0};  // as of what is merged
  std::int64_t most_taken_{INT64_MIN}, max_running_{0};
  std::vector<PointAt> order_;  // of one slice
  SimTime peak_time_{};
  Moments holes_next_;
  std::int64_t holes_{0}, most_holes_{0};
};

}  // namespace kvplan::observe
