// What the ledger tells: the ten states over time, as spans in which each changes by a fixed amount per step.
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

/// The states, in the order in which they are decided: a byte is in the first that matches
/// (simulator/docs/model.md).
enum class State : std::uint8_t {
  kMetadata,  ///< table, map, accumulator placed in the pool, or scale of a live cell
  kLive,      ///< held, written, and kept by some holder
  kReserved,  ///< a holder will write its cell
  kHole,      ///< written, dropped by all holders, not rewritable before its allocation unit is released
  kTail,      ///< will never be written, beside a cell of live, reserved or hole in the same allocation unit
  kPadding,   ///< no cell maps to it: null block, remainders
  kInternal,  ///< any other held byte: over-reservation
  kCached,    ///< not held, content can still be found by a lookup
  kStranded,  ///< not held, and the latest scheduling pass refused an allocation for lack of memory
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

/// The states of what requests hold: all but the last three.
inline constexpr std::array<std::size_t, 7> kHeldStates{0, 1, 2, 3, 4, 5, 6};
static_assert(kStateNames[6] == "internal" && kStateNames[7] == "cached");

/// Whether what pools say beside the ten states is the same.
constexpr bool same_beside_states(const core::PoolCounts& a, const core::PoolCounts& b) {
  return a.duplicates == b.duplicates && a.unreachable == b.unreachable && a.sharers == b.sharers;
}

/// `series.steps` steps from `begin` to `end`; during step k (0-based) state s holds cells[s] + k * growth[s] counts,
/// each of them layout().count_bytes() bytes. Padding outside the allocation units is not in cells: see
/// Ledger::layout().
struct LedgerSpan {
  SimTime begin, end;
  core::StepSeries series;
  StateCounts cells;
  StateCounts growth;
  std::int64_t running;
  std::int64_t waiting;
};

/// What a pass inside a decode run moves from idle memory to what requests hold.
struct LedgerGrants {
  SimTime time;
  std::int64_t step;                      ///< steps of the decode run before it
  std::int64_t reserved, tail, internal;  ///< what it is from then on
  std::int64_t cached, free;              ///< what it was, as negative numbers; all five sum to 0
};

void add_grants(StateCounts& cells, const LedgerGrants& pass);

/// A series of steps with passes between them that only grant (core::DecodeRun).
struct LedgerDecodeRun {
  LedgerSpan span;                              ///< from its begin to its end, as if no pass granted anything
  std::span<const LedgerGrants> passes;         ///< not empty; they ascend
  std::span<const core::GrantingPass> granted;  ///< the same passes, as the engine tells them
  bool pool_changes;                            ///< some pass changes what LedgerSink::on_pool tells
  core::PoolCounts pool_before;                 ///< before the first pass
  core::Refusal refusal;                        ///< as on_pool has it; of no pass: none is refused anything

  /// Counts after the last pass, as they are when it has granted.
  [[nodiscard]] StateCounts cells_after_passes() const;
  /// What LedgerSink::on_pool would be told of it: calls tell(time, pool) for each change.
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
  /// Many spans at once. As it is here, it tells on_span, on_pool and on_pass one by one; a sink that only sums
  /// has a shorter way to the same.
  virtual void on_decode_run(const LedgerDecodeRun& decode_run);
  /// The pool as it is from `time` on, for the spans and passes that are told next; told when what it says beside the
  /// states changes (duplicates, unreachable, sharers), or `refusal`: of the latest pass, what idle memory is stranded
  /// by. Not told before the first change: then nothing is shared or cached, and all of it is free.
  virtual void on_pool(SimTime /*time*/, const core::PoolCounts& /*pool*/, core::Refusal /*refusal*/) {}
  /// Where layers lie in groups (core::MemoryLayout::groups): of the span or pass that is told next, the states that
  /// requests hold by kind of group, in the order of model::kinds_of, and what each step adds. Summed over the kinds
  /// they are those of the span or pass.
  virtual void on_kinds(std::span<const StateCounts> /*held*/, std::span<const StateCounts> /*growth*/) {}
  /// The settled state after a scheduling pass.
  virtual void on_pass(SimTime /*time*/, const StateCounts& /*cells*/, std::int64_t /*running*/) {}
  /// The settled state after steps, when nothing is held: what the span will say that begins there, if no pass is due
  /// at once. That span is told when it ends. Told to those who want it.
  virtual void on_nothing_held(SimTime /*time*/, const StateCounts& /*cells*/) {}
  [[nodiscard]] virtual bool wants_nothing_held() const { return false; }
  /// The settled state after the last request.
  virtual void on_end(SimTime /*time*/, const StateCounts& /*cells*/) {}
};

}  // namespace kvplan::observe
