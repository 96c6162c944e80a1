// What placing costs the fast engine in one step: ranges that move (Placing::moves), copies that end with
// the step, survivors that were compacted when the step before ended, and the time that these add to the
// step.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "simulator/core/observer.h"

namespace kvplan::core {

class PassMoves {
 public:
  PassMoves(Allocator& allocator, std::span<Observer* const> observers)
      : allocator_(allocator), observers_(observers), costs_(allocator.placing() != nullptr) {}

  /// Reports a move. `copied`: written slots of the range.
  void tell(const RangeMove& range, std::int64_t copied) {
    const Move move{range, copied};
    for (Observer* o : observers_) o->on_move(move);
    tokens_ += copied;
    if (!range.slides) copies_.push_back(move);
  }
  /// The survivors of a request are compacted. `written`: tokens that it has written.
  void compact(RequestId request, std::int64_t written, const Compaction& moved) {
    allocator_.block_returns()->cut_table(request, moved.alloc_units);
    compacted_cells_ += moved.kept_cells;
    for (Observer* o : observers_) o->on_compact(Compacted{request, written, moved});
  }
  [[nodiscard]] bool copying() const { return !copies_.empty(); }
  /// Was the request's range the last one to be copied?
  [[nodiscard]] bool copied_latest(RequestId request) const {
    return !copies_.empty() && copies_.back().range.request == request;
  }
  /// Time by which this step becomes longer. REQUIRES: the step computes something.
  Ticks take_delay(const LatencyModel& latency) {
    Ticks delay;
    if (costs_) delay = allocator_.placing()->take_delay(std::exchange(tokens_, 0), computed_);
    if (compacted_cells_ == 0) return delay;
    return delay + latency.moving(std::exchange(compacted_cells_, 0) * allocator_.layout().cell_bytes());
  }
  /// Sets the computing time of the last of the steps that come now.
  void computes(Ticks step) { computed_ = step; }
  /// The step has ended. Returns true if copies ended with it, so that their sources are free.
  bool end(SimTime now) {
    if (copies_.empty()) return false;
    allocator_.placing()->end_copies();
    for (Observer* o : observers_) o->on_copies_end(now, copies_, allocator_.counts());
    copies_.clear();
    return true;
  }

 private:
  Allocator& allocator_;
  std::span<Observer* const> observers_;
  bool costs_;
  std::vector<Move> copies_;
  std::int64_t tokens_{0};
  std::int64_t compacted_cells_{0};  // since the latest step that computed something
  Ticks computed_;
};

}  // namespace kvplan::core
