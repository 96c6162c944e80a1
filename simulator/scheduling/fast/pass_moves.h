// The fast engine's account of what placing costs in one pass: ranges that move (Placing::moves), copies that end
// with the step, survivors that moved together when the step before ended, time that the step takes longer.
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

  /// `copied`: written slots of the range.
  void tell(const RangeMove& range, std::int64_t copied) {
    const Move move{range, copied};
    for (Observer* o : observers_) o->on_move(move);
    tokens_ += copied;
    if (!range.slides) copies_.push_back(move);
  }
  /// The survivors of a request, which has written so many tokens, move together.
  void compact(RequestId request, std::int64_t written, const Compaction& moved) {
    allocator_.block_returns()->cut_table(request, moved.alloc_units);
    compacted_cells_ += moved.kept_cells;
    for (Observer* o : observers_) o->on_compact(Compacted{request, written, moved});
  }
  [[nodiscard]] bool copying() const { return !copies_.empty(); }
  /// Was the request's range the latest to be copied?
  [[nodiscard]] bool copied_latest(RequestId request) const {
    return !copies_.empty() && copies_.back().range.request == request;
  }
  /// By how much the step of this pass takes longer. REQUIRES: it computes something.
  Ticks take_delay(const LatencyModel& latency) {
    Ticks delay;
    if (costs_) delay = allocator_.placing()->take_delay(std::exchange(tokens_, 0), computed_);
    if (compacted_cells_ == 0) return delay;
    return delay + latency.moving(std::exchange(compacted_cells_, 0) * allocator_.layout().cell_bytes());
  }
  /// So long does the last of the steps that come now compute.
  void computes(Ticks step) { computed_ = step; }
  /// The step has ended. True: copies have, and what they came from is free.
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
  std::int64_t compacted_cells_{0};  // since the latest pass that computed something
  Ticks computed_;
};

}  // namespace kvplan::core
