// The requests that hold each block, and its cells that a keep rule (core/engine.h) drops: the part of the ledger with
// a closed form. It counts tokens and knows no state but holes; course_account.h does the same for courses.
//
// Where blocks have ids, several requests may hold one; a cell of it is a hole when all of them have dropped it.
// Elsewhere (`alone`: contiguous memory, allocation units without ids) each request has its own memory, and every cell
// that it drops is a hole until its allocation unit is freed. A request that has dropped a cell since its admission is
// "sliding": it drops one more with every step.
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
  /// `places`: column with the index of each sliding request, shared by all accounts of the run.
  KeepAccount(const core::KeepRule& keep, std::int64_t alloc_unit_tokens, bool alone,
              core::RequestPlaces places)
      : keep_(keep), alloc_unit_tokens_(alloc_unit_tokens), alone_(alone), sliders_(std::move(places)) {}

  // Holders of blocks, if blocks have ids.

  /// A block that no request held gets one holder.
  void hold_fresh(BlockId block) {
    if (refs_.size() <= at(block)) refs_.resize(at(block) + 1);
    if (keep_.evicts() && erosion_.size() <= at(block)) erosion_.resize(at(block) + 1);
    KVPLAN_CHECK(refs_[at(block)] == 0, block, refs_[at(block)]);
    refs_[at(block)] = 1;
  }
  /// The block gets one more holder, which keeps all its cells. True: no request held it before.
  bool share(BlockId block) {
    std::int32_t& refs = refs_[at(block)];
    if (refs == 0 || !keep_.evicts()) return refs++ == 0;
    share_eroded(block);
    return false;
  }
  /// The block loses a holder. True: no request holds it now.
  bool give_back(BlockId block) {
    std::int32_t& refs = refs_[at(block)];
    KVPLAN_CHECK(refs > 0, block);
    const bool eroded =
        keep_.evicts() && (refs > 1 || erosion_[at(block)].active + erosion_[at(block)].past > 0);
    if (!eroded) return --refs == 0;
    return give_back_eroded(block);
  }

  // Dropped cells.

  void drop(const core::Drop& drop) { alone_ ? drop_alone(drop) : drop_of_blocks(drop); }
  /// If requests are alone: this many allocation units of the request are freed.
  void free_alone(RequestId request, std::int64_t alloc_units) {
    sliders_[request].freed += alloc_units;
    holes_ -= alloc_units * alloc_unit_tokens_;
  }
  /// The request stops sliding, if it did; call this before its blocks are freed. Returns the number of tokens in
  /// blocks that it has freed, if requests are alone.
  std::int64_t leave(RequestId request);
  /// `steps` steps have ended, not counting the last of the run, which end_step() reports.
  void run(std::int64_t steps) {
    holes_ += growing_ * steps;
    clock_ += steps;
    dropped_tokens_ += sliding_ * steps;
  }
  /// The drops of one step; the requests in `finishing` drop nothing. REQUIRES: slides().
  void end_step(std::span<const RequestId> finishing);

  /// Holes, in tokens: in total, how many more with each step, and the holes of one request if requests are alone.
  [[nodiscard]] std::int64_t holes() const { return holes_; }
  [[nodiscard]] std::int64_t growth() const { return growing_; }
  [[nodiscard]] std::int64_t holes_alone(RequestId request) const;
  /// True: some request slides.
  [[nodiscard]] bool slides() const { return sliding_ > 0; }
  /// Tokens dropped since the beginning, counted for each request separately.
  [[nodiscard]] std::int64_t dropped_tokens() const { return dropped_tokens_; }

 private:
  /// A block with cells that some request has dropped. Its holders are `full` (keep all its cells), `active`
  /// (their next drop is in it) or `past` (dropped up to its end, and hold it for the protected cells at its
  /// start).
  struct Erosion {
    std::int32_t active{0};
    std::int32_t past{0};
    RequestId first_active{-1};  ///< list through Slider::next
    std::int64_t start{0};       ///< position of the block's first cell in every holder
  };
  struct Slider {
    std::int64_t base{0};   ///< the request has dropped up to clock_ + base
    std::int64_t freed{0};  ///< allocation units freed since it began to slide, if requests are alone
    RequestId next{-1};
    BlockId active_block{kNoBlock};
    BlockId past_block{kNoBlock};
  };

  static std::size_t at(BlockId block) { return index(block); }
  [[nodiscard]] std::int64_t dropped_to(RequestId r) const { return clock_ + sliders_[r].base; }
  [[nodiscard]] std::int64_t holes(BlockId block) const;
  [[nodiscard]] bool grows(BlockId block) const;
  /// Runs `change`, then updates the totals by the difference in the block's holes and growth.
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
  std::vector<std::int32_t> refs_;  // by block, for all blocks that were ever held: number of holders
  std::vector<Erosion> erosion_;    // by block, only if the keep rule evicts
  InFlight<Slider> sliders_;
  std::int64_t clock_{0};  // number of steps in which sliding requests dropped a cell
  std::int64_t sliding_{0};
  std::int64_t growing_{0};  // blocks, or requests that are alone, that get one more hole with each step
  std::int64_t holes_{0};
  std::int64_t dropped_tokens_{0};
};

}  // namespace kvplan::observe
