// The reports of the ledger: the ten states over time, as spans in which each changes by a fixed amount per step.
// Integrals, timelines, peaks and overlays are sinks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "simulator/base/units.h"
#include "simulator/core/observer.h"
#include "simulator/core/step_series.h"

namespace kvplan::observe {

/// The states in order of precedence: a byte is in the first state that matches (simulator/docs/measurements.md).
enum class State : std::uint8_t {
  kMetadata,  ///< block table, index or accumulator placed in the pool, or scales of a live cell
  kLive,      ///< held, written, and kept by at least one holder
  kReserved,  ///< held, and a holder will write this cell
  /// Held, written, and dropped by all holders; cannot be rewritten before its allocation unit is freed
  kHole,
  kTail,      ///< held, will never be written, in an allocation unit that has a live, reserved or hole cell
  kPadding,   ///< no cell maps to it: null block, remainders
  kInternal,  ///< any other held byte: over-reservation
  kCached,    ///< not held, content can still be found by a lookup
  kStranded,  ///< not held, and the latest pass refused an allocation for lack of memory
  kFree,      ///< the rest
};
inline constexpr std::size_t kStates = 10;
using StateCounts = std::array<std::int64_t, kStates>;
constexpr std::size_t index(State state) {
  return static_cast<std::size_t>(state);
}

/// Names as reports spell them, in the order of `State`.
inline constexpr std::array<std::string_view, kStates> kStateNames{
    "metadata", "live", "reserved", "hole", "tail", "padding", "internal", "cached", "stranded", "free"};

/// The states of held memory: all but the last three.
inline constexpr std::array<std::size_t, 7> kHeldStates{0, 1, 2, 3, 4, 5, 6};
static_assert(kStateNames[6] == "internal" && kStateNames[7] == "cached");

/// True: the pool's counts other than the ten states are the same.
constexpr bool same_beside_states(const core::PoolCounts& a, const core::PoolCounts& b) {
  return a.duplicates == b.duplicates && a.unreachable == b.unreachable && a.sharers == b.sharers;
}

/// `series.steps` steps from `begin` to `end`. During step k (from 0) state s has cells[s] + k * growth[s] counts
/// of layout().count_bytes() bytes each. Padding outside allocation units is not in cells: see Ledger::layout().
struct LedgerSpan {
  SimTime begin, end;
  core::StepSeries series;
  StateCounts cells;
  StateCounts growth;
  std::int64_t running;
  std::int64_t waiting;
};

/// The change from idle to held memory by a pass inside a decode run.
struct LedgerGrants {
  SimTime time;
  std::int64_t step;                      ///< steps of the decode run before this pass
  std::int64_t reserved, tail, internal;  ///< added to these states from then on
  std::int64_t cached, free;              ///< taken from these states, as negative numbers; all five sum to 0
};

void add_grants(StateCounts& cells, const LedgerGrants& pass);

/// A run of decode steps with passes between them that only grant blocks (core::DecodeRun).
struct LedgerDecodeRun {
  LedgerSpan span;                       ///< from begin to end of the run, as if no pass granted anything
  std::span<const LedgerGrants> passes;  ///< in ascending order, not empty
  std::span<const core::GrantingPass> granted;  ///< the same passes, as the engine reports them
  bool pool_changes;                            ///< true: some pass changes what LedgerSink::on_pool reports
  core::PoolCounts pool_before;                 ///< before the first pass
  core::Refusal refusal;  ///< the refusal that on_pool has reported; no pass of the run is refused anything

  /// Counts after the last pass has granted its blocks.
  [[nodiscard]] StateCounts cells_after_passes() const;
  /// Calls tell(time, pool) for each change that LedgerSink::on_pool would report.
  template <class Tell>
  void tell_pools(Tell tell) const {
    if (!pool_changes) return;
    core::PoolCounts before = pool_before;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      if (!same_beside_states(granted[i].pool, before)) tell(passes[i].time, granted[i].pool);
      before = granted[i].pool;
    }
  }
};

class LedgerSink {
 public:
  virtual ~LedgerSink() = default;
  /// Spans come in order, without gaps, from the first arrival of the trace to the end of the run.
  virtual void on_span(const LedgerSpan& span) = 0;
  /// A decode run as a whole. The default calls on_span, on_pool and on_pass one by one; a sink that only sums
  /// can override it with something faster.
  virtual void on_decode_run(const LedgerDecodeRun& decode_run);
  /// Gives the pool from `time` on, for the spans and passes that follow. Called when the counts beside the states
  /// change (duplicates, unreachable, sharers), or `refusal`: why the latest pass left idle memory stranded. Before the
  /// first call nothing is shared or cached and all memory is free.
  virtual void on_pool(SimTime /*time*/, const core::PoolCounts& /*pool*/, core::Refusal /*refusal*/) {}
  /// With groups of layers (core::MemoryLayout::groups), for the span or pass that is reported next: the held states by
  /// kind of group, in the order of model::kinds_of, and their change per step. The sum over the kinds is that of the
  /// span or pass.
  virtual void on_kinds(std::span<const StateCounts> /*held*/, std::span<const StateCounts> /*growth*/) {}
  /// The settled state after a pass.
  virtual void on_pass(SimTime /*time*/, const StateCounts& /*cells*/, std::int64_t /*running*/) {}
  /// The settled state after steps, when no memory is held. The next span will have the same state if no pass is due at
  /// once. The span itself is reported when it ends.
  virtual void on_nothing_held(SimTime /*time*/, const StateCounts& /*cells*/) {}
  [[nodiscard]] virtual bool wants_nothing_held() const { return false; }
  /// The settled state after the last request.
  virtual void on_end(SimTime /*time*/, const StateCounts& /*cells*/) {}
};

}  // namespace kvplan::observe
