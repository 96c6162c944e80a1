// Parts of allocator_paged_runs.cpp: the queue of blocks that no request holds, as runs in the order in which they are
// handed out, and the data about their requests.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/ids.h"

namespace kvplan::memory::paged_runs {

using RunId = std::int32_t;
using LifeId = std::int32_t;
inline constexpr std::int32_t kNone = -1;
inline constexpr std::int64_t kNothingGone = INT64_MAX;

/// Consecutive blocks of the queue.
struct Run {
  std::int64_t low{0}, high{0};  ///< logical blocks; only their number matters if there is no owner
  LifeId owner{kNone};           ///< the request to which the contents belong; kNone: no content can be found
  std::int32_t admission{0};     ///< admission of the owner at which the blocks were inserted
  RunId queue_prev{kNone}, queue_next{kNone};
  RunId owner_prev{kNone}, owner_next{kNone};  ///< other runs of the owner, in no order
};

/// A request from its first admission until it has ended and none of its blocks are in the queue. The fields that a
/// grant needs fill one cache line.
struct alignas(64) Life {
  /// Held logical blocks that were prefix hits, and the admission at which they had been inserted.
  struct Piece {
    std::int64_t low, high;
    std::int32_t admission;
  };
  RequestId request{0};
  bool held{false};       ///< it is admitted now
  bool forgotten{false};  ///< it has ended
  bool closed{false};     ///< has dropped a cell since its admission
  bool dropped{false};    ///< it has dropped cells since it last held all its contents
  RunId runs{kNone};      ///< its runs in the queue
  std::int32_t admission{0};
  std::int32_t goal{0};              ///< tokens that it computes before it samples one, since its admission
  std::int64_t published{0};         ///< leading blocks that have been inserted into the cache
  std::int64_t end{0};               ///< length of the table
  std::vector<std::int32_t> copies;  ///< by logical block; empty while no content can have two copies

  std::int64_t duplicates{0};             ///< its duplicate blocks in the queue, as PoolCounts counts them
  std::int64_t unreachable{0};            ///< its unreachable blocks in the queue, likewise
  std::vector<Piece> hits;                ///< cover blocks [0, found) of the table, ascending
  std::int64_t found{0};                  ///< blocks in `hits`
  std::int64_t gap_begin{0}, gap_end{0};  ///< blocks freed by the keep rule
  std::int64_t scattered{0};              ///< blocks freed by a course; they have no content to find
  /// While `dropped`: the lowest block that has lost its content since then.
  std::int64_t first_gone{kNothingGone};
};

/// The queue of runs. A run keeps its id while it is in the queue; ids of runs that have left are used again.
class RunQueue {
 public:
  Run& run(RunId id) { return runs_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] RunId front() const { return front_; }  ///< kNone: the queue is empty
  [[nodiscard]] RunId back() const { return back_; }

  /// Makes a run that is not in the queue yet; its fields have old values. References to runs become invalid.
  RunId new_run() {
    if (idle_.empty()) {
      runs_.emplace_back();
      return static_cast<RunId>(runs_.size()) - 1;
    }
    const RunId id = idle_.back();
    idle_.pop_back();
    return id;
  }

  /// Inserts the run behind `place`; with kNone at the front.
  void insert_after(RunId id, RunId place) {
    RunId& next = place == kNone ? front_ : run(place).queue_next;
    run(id).queue_prev = place;
    run(id).queue_next = next;
    (next == kNone ? back_ : run(next).queue_prev) = id;
    next = id;
  }

  /// Removes the run and returns a copy of it.
  Run remove(RunId id) {
    const Run gone = run(id);
    (gone.queue_prev == kNone ? front_ : run(gone.queue_prev).queue_next) = gone.queue_next;
    (gone.queue_next == kNone ? back_ : run(gone.queue_next).queue_prev) = gone.queue_prev;
    idle_.push_back(id);
    return gone;
  }

 private:
  std::vector<Run> runs_;
  std::vector<RunId> idle_;
  RunId front_{kNone}, back_{kNone};
};

}  // namespace kvplan::memory::paged_runs
