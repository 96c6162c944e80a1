// Who holds which block, and what a keep rule (core/engine.h) drops of the cells in it: the part of the ledger that
// changes by a closed form. Counts tokens' places and knows no state but holes; what is said of a course is in
// course_account.h.
//
// Where blocks have ids, several requests may hold one; a cell of it is a hole when all of them have dropped it.
// Elsewhere (`alone`: contiguous memory, allocation units without ids) each request has its memory to itself, and all
// that it drops is a hole until its allocation unit is let go. Requests that have dropped a cell since their
// admission slide: each loses one with every step.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/engine.h"
#include "simulator/core/observer.h"
#include "simulator/observe/in_flight.h"

namespace kvplan::observe {

class KeepAccount {
 public:
  /// `places`: of requests that slide, among those of all accounts of the run.
  KeepAccount(const core::KeepRule& keep, std::int64_t alloc_unit_tokens, bool alone,
              core::RequestPlaces places)
      : keep_(keep), alloc_unit_tokens_(alloc_unit_tokens), alone_(alone), sliders_(std::move(places)) {}

  // Holders of blocks, where these have ids.

  /// A block that nobody held has one holder.
  void hold_fresh(BlockId block) {
    if (refs_.size() <= at(block)) refs_.resize(at(block) + 1);
    if (keep_.evicts() && erosion_.size() <= at(block)) erosion_.resize(at(block) + 1);
    KVPLAN_CHECK(refs_[at(block)] == 0, block, refs_[at(block)]);
    refs_[at(block)] = 1;
  }
  /// It has one more, who keeps all its cells. True: nobody held it.
  bool share(BlockId block) {
    std::int32_t& refs = refs_[at(block)];
    if (refs == 0 || !keep_.evicts()) return refs++ == 0;
    share_eroded(block);
    return false;
  }
  /// One less. True: nobody is left.
  bool give_back(BlockId block) {
    std::int32_t& refs = refs_[at(block)];
    KVPLAN_CHECK(refs > 0, block);
    const bool eroded =
        keep_.evicts() && (refs > 1 || erosion_[at(block)].active + erosion_[at(block)].past > 0);
    if (!eroded) return --refs == 0;
    return give_back_eroded(block);
  }

  // What requests drop.

  void drop(const core::Drop& drop) { alone_ ? drop_alone(drop) : drop_of_blocks(drop); }
  /// Where requests are alone: so many allocation units of it come back.
  void free_alone(RequestId request, std::int64_t alloc_units) {
    sliders_[request].freed += alloc_units;
    holes_ -= alloc_units * alloc_unit_tokens_;
  }
  /// It slides no more, if it did; to be told before its blocks are given back. Where it is alone, the tokens that it
  /// has let go.
  std::int64_t leave(RequestId request);
  /// `steps` steps have ended, of which the last is told by end_step().
  void run(std::int64_t steps) {
    holes_ += growing_ * steps;
    clock_ += steps;
    dropped_tokens_ += sliding_ * steps;
  }
  /// One step's drops; `finishing` drop nothing. REQUIRES: slides().
  void end_step(std::span<const RequestId> finishing);

  /// Holes, in tokens' places; how many more there are with each step; and of one request that is alone.
  [[nodiscard]] std::int64_t holes() const { return holes_; }
  [[nodiscard]] std::int64_t growth() const { return growing_; }
  [[nodiscard]] std::int64_t holes_alone(RequestId request) const;
  /// Does any request slide?
  [[nodiscard]] bool slides() const { return sliding_ > 0; }
  /// Dropped so far, by each request for itself.
  [[nodiscard]] std::int64_t dropped_tokens() const { return dropped_tokens_; }

 private:
  /// A block that some request has dropped cells of. Holders are `full` (keep all its cells), `active` (their
  /// next drop is in it) or `past` (dropped up to its end, held for the protected cells at its start).
  struct Erosion {
    std::int32_t active{0};
    std::int32_t past{0};
    RequestId first_active{-1};  ///< list through Slider::next
    std::int64_t start{0};       ///< position of the block's first cell in every holder
  };
  struct Slider {
    std::int64_t base{0};   ///< dropped up to clock_ + base
    std::int64_t freed{0};  ///< allocation units let go since it began to slide; kept where it is alone
    RequestId next{-1};
    BlockId active_block{kNoBlock};
    BlockId past_block{kNoBlock};
  };

  static std::size_t at(BlockId block) { return index(block); }
  [[nodiscard]] std::int64_t dropped_to(RequestId r) const { return clock_ + sliders_[r].base; }
  [[nodiscard]] std::int64_t holes(BlockId block) const;
  [[nodiscard]] bool grows(BlockId block) const;
  /// Runs `change`, then moves what it changed in the block's holes and growth into the totals.
  template <class Change>
  void with_block(BlockId block, Change change);
  void share_eroded(BlockId block);
  bool give_back_eroded(BlockId block);
  void begin_sliding(const core::Drop& drop);
  void drop_alone(const core::Drop& drop);
  void drop_of_blocks(const core::Drop& drop);
  void join_active(RequestId request, BlockId block, std::int64_t start);
  void leave_active(RequestId request);

  core::KeepRule keep_;
  std::int64_t alloc_unit_tokens_;
  bool alone_;
  std::vector<std::int32_t> refs_;  // by block, as far as one was ever held: requests that hold it
  std::vector<Erosion> erosion_;    // likewise, only where the keep rule evicts
  InFlight<Slider> sliders_;
  std::int64_t clock_{0};  // steps in which sliding requests have dropped a cell
  std::int64_t sliding_{0};
  std::int64_t growing_{
      0};  // blocks, or requests that are alone, in which one more cell becomes a hole per step
  std::int64_t holes_{0};
  std::int64_t dropped_tokens_{0};
};

}  // namespace kvplan::observe
