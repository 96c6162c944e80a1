// The costs of placing in a replica: ranges copied to grow, ranges that slid to make room for another range, and the
// time that steps take longer because of both, of compaction of survivors and of other work of the allocator. In
// reports it is the group `placement`.
#pragma once

#include <cstdint>

#include "simulator/core/observer.h"

namespace kvplan::observe {

struct PlacingCosts {
  std::int64_t copies{0};         ///< ranges that were copied to grow
  std::int64_t copied_tokens{0};  ///< tokens written in those ranges
  std::int64_t compactions{0};    ///< passes in which ranges slid
  std::int64_t slid_tokens{0};    ///< tokens written in those ranges
  Ticks delay;                    ///< added to all steps together
  friend bool operator==(const PlacingCosts&, const PlacingCosts&) = default;
};

class PlacingRecords final : public core::Observer {
 public:
  [[nodiscard]] const PlacingCosts& costs() const { return costs_; }

  void on_pass_begin(SimTime time) override;
  void on_move(const core::Move& move) override;
  void on_pass_end(const core::Pass& pass) override;
  [[nodiscard]] bool follows_decode_runs() const override { return true; }

 private:
  PlacingCosts costs_;
  bool slid_{false};  ///< a range slid in this pass
};

}  // namespace kvplan::observe
