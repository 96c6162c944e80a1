// Extremes of the sums over several replicas at one instant: the earliest moment of least available memory with its
// states, the largest sum of batches, the most holes.
//
// Replicas report independently of each other, not in step. Their spans wait here until no earlier span can come, and
// are then merged in order of time. At one moment the passes of all replicas count before sums are taken. This object
// needs memory only for the waiting spans. Each replica may report from a thread of its own.
#pragma once

#include <memory>
#include <queue>
#include <vector>

#include "simulator/observe/ledger.h"
#include "simulator/observe/overlays.h"

namespace kvplan::observe {

class JointStates {
 public:
  /// REQUIRES: all replicas have the same layout, and none has run.
  JointStates(std::int64_t replicas, const core::MemoryLayout& layout);
  ~JointStates();
  JointStates(const JointStates&) = delete;
  JointStates& operator=(const JointStates&) = delete;

  /// The sink for the ledger of this replica; valid as long as this object.
  [[nodiscard]] LedgerSink& sink_of(std::int64_t replica);
  /// Number of reported changes that wait to be merged.
  [[nodiscard]] std::int64_t waiting() const;
  /// Sums over all replicas.
  struct Sum {
    StateCounts cells{};
    std::int64_t running{0};  ///< requests in all running lists
  };
  /// The sums after the last passes of a tick. REQUIRES: every replica has reported everything that begins up to then,
  /// and none of it was merged; moments do not go back.
  [[nodiscard]] Sum sum_at(SimTime moment);
  /// Merges all changes that begin before `until`. REQUIRES: every replica has reported all of them.
  void merge(SimTime until);

  // REQUIRES for the functions below: every replica has ended, and everything was merged.

  [[nodiscard]] SimTime peak_time() const { return peak_time_; }
  /// States of one replica at the peak.
  [[nodiscard]] const StateCounts& peak_cells(std::int64_t replica) const;
  [[nodiscard]] const OverlayCounts& peak_overlays(std::int64_t replica) const;
  /// With groups of layers: states by index in model::kinds_of; else empty.
  [[nodiscard]] const std::vector<StateCounts>& peak_kinds(std::int64_t replica) const;
  /// The largest number of running requests over all replicas.
  [[nodiscard]] std::int64_t max_running() const { return max_running_; }
  /// The largest number of counts in state hole.
  [[nodiscard]] std::int64_t most_holes() const { return most_holes_; }

 private:
  class Track;
  // an event of one replica: its next span begins, or the next step of a span in which holes grow
  struct Moment {
    std::int64_t ticks;
    std::int32_t track;
    bool operator>(const Moment& other) const {
      return ticks != other.ticks ? ticks > other.ticks : track > other.track;
    }
  };
  using Moments = std::priority_queue<Moment, std::vector<Moment>, std::greater<>>;

  /// Sums over all replicas.
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
  Sums now_{0, 0};  // sums of the changes merged so far
  std::int64_t most_taken_{INT64_MIN}, max_running_{0};
  std::vector<PointAt> order_;  // the changes of one slice of time
  SimTime peak_time_{};
  Moments holes_next_;
  std::int64_t holes_{0}, most_holes_{0};
};

}  // namespace kvplan::observe
