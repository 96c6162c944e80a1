// Amounts that are reported in addition to the ten states and never added to them: how much memory a request could
// still get, why idle memory is stranded, which part of the cache is useless, what sharing saves.
//
// A sink of the ledger, in the ledger's counts. Amounts that follow from the ledger's states are taken from there
// (available sums three; the two kinds of stranded sum to one), so a run that strands and shares nothing pays nothing.
#pragma once

#include <array>
#include <string_view>

#include "simulator/observe/integral.h"

namespace kvplan::observe {

enum class Overlay : std::uint8_t {
  kAvailable,  ///< cached + stranded + free
  /// Stranded, and the last refusal of the latest pass asked for more than all idle memory
  kStrandedTooShort,
  /// Stranded, and idle memory was large enough in total, but not in one piece; the two sum to stranded
  kStrandedFragmented,
  kCachedDuplicate,    ///< cached, and a lookup finds an older copy of the content first
  kCachedUnreachable,  ///< cached, but no lookup reaches it, because an earlier block of its prefix is gone
  kSavedBySharing,     ///< how much more memory would be held if every holder had its own copy
};
inline constexpr std::size_t kOverlays = 6;
using OverlayCounts = std::array<std::int64_t, kOverlays>;
constexpr std::size_t index(Overlay overlay) {
  return static_cast<std::size_t>(overlay);
}

/// Names as reports spell them, in the order of `Overlay`.
inline constexpr std::array<std::string_view, kOverlays> kOverlayNames{
    "available",        "stranded_too_short", "stranded_fragmented",
    "cached_duplicate", "cached_unreachable", "saved_by_sharing"};

/// The overlays of these states and this pool; `alloc_unit`: counts in one allocation unit.
OverlayCounts overlays_of(const StateCounts& cells, const core::PoolCounts& pool, core::Refusal refusal,
                          std::int64_t alloc_unit);

class Overlays final : public LedgerSink {
 public:
  /// Stores the overlays at the peak. REQUIRES: the ledger calls `peak` before this sink; both outlive the
  /// run.
  Overlays(const core::MemoryLayout& layout, const Peak& peak)
      : alloc_unit_(layout.alloc_unit_counts()), peak_(peak) {}

  void on_pool(SimTime time, const core::PoolCounts& pool, core::Refusal refusal) override;
  void on_span(const LedgerSpan& span) override;
  void on_decode_run(const LedgerDecodeRun& decode_run) override;
  void on_pass(SimTime time, const StateCounts& cells, std::int64_t running) override;

  /// Sums over time until `end`, in counts x ticks. `states`: the same sums for the ledger's states.
  [[nodiscard]] std::array<Wide, kOverlays> count_ticks(const std::array<Wide, kStates>& states,
                                                        SimTime end) const;
  /// At the peak.
  [[nodiscard]] const OverlayCounts& at_peak() const { return at_peak_; }

 private:
  std::int64_t alloc_unit_;
  const Peak& peak_;
  core::PoolCounts pool_{};
  core::Refusal refusal_{core::Refusal::kNone};
  Wide fragmented_ticks_{0};
  Jumps duplicates_, unreachable_, sharers_;  // in allocation units
  OverlayCounts at_peak_{};
};

}  // namespace kvplan::observe
