// The decisions of vLLM's scheduler for a fast replica: which requests run and with how many tokens, which are admitted
// and which preempted, and for how many steps no further decision is needed (README.md). It calls the allocator and the
// observers as it decides; the replica keeps the time and ends the steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/core/observer.h"
#include "simulator/scheduling/fast/pass_moves.h"
#include "simulator/scheduling/vllm/batch.h"
#include "simulator/scheduling/vllm/params.h"
#include "simulator/scheduling/vllm/priority_order.h"

namespace kvplan::scheduling::vllm {

/// Prompt tokens of one request that are computed in the step.
struct Piece {
  core::Slot slot;
  std::int64_t tokens;
};

class Scheduler {
 public:
  /// `run`, all that it refers to, and the allocator outlive it.
  Scheduler(const core::ReplicaSetup& run, const Params& params, core::Allocator& allocator);

  /// The running requests. Only the scheduler adds requests; the replica advances and removes them.
  Batch& batch() { return batch_; }
  [[nodiscard]] const Batch& batch() const { return batch_; }

  /// Adds a request to the queue. `arrival`: when the request arrived.
  void join(RequestId request, SimTime arrival) {
    waiting_.join({batch_.workload.priority_of(request), arrival, request});
  }
  [[nodiscard]] std::int64_t waiting() const { return waiting_.size(); }

  /// Decides one scheduler step (a "pass"), and reports its decisions to the observers. Errors: those of making a
  /// course.
  Status decide(SimTime now);
  /// The latest step, with the pool's counts from the latest set_pool.
  [[nodiscard]] const core::Pass& pass() const { return pass_; }
  /// The pieces of prompts in the step, in admission order.
  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  /// Updates the pool's counts after grants or frees.
  void set_pool(const core::PoolCounts& pool) { pass_.pool = pool; }
  core::PassMoves& moves() { return moves_; }

  /// After decide(): true if the next steps can be like this one; otherwise the step must be reported alone.
  [[nodiscard]] bool alike() const { return alike_; }
  /// True if the steps that follow only grant blocks to decoding requests, until a request ends or begins to drop
  /// cells, a request arrives, or blocks run out. The queue must have no request that could be looked up: a grant may
  /// evict blocks that its lookup would hit.
  [[nodiscard]] bool only_grants_follow() const {
    return decode_runs_ && alike_ && batch_.following.empty() && batch_.sums.sliding == 0 && admits_none();
  }
  /// The number of steps in a row, this one included, that are alike as long as no request joins. `granting`: steps
  /// that only grant blocks count as alike. REQUIRES: alike(); granting is only_grants_follow() or false.
  [[nodiscard]] std::int64_t alike_steps(bool granting);
  /// Allocation units that decoding requests need for the `steps` steps after this one.
  [[nodiscard]] std::int64_t alloc_units_ahead(std::int64_t steps) const {
    return batch_.phases.members_within(batch_.step, steps);
  }
  /// Makes the grants of `steps` alike steps. REQUIRES: steps <= alike_steps(true).
  void grant_ahead(std::int64_t steps);
  /// Results of the latest grant_ahead.
  [[nodiscard]] std::span<const core::GrantingPass> granting_passes() const { return granting_passes_; }
  [[nodiscard]] std::span<const core::DecodeGrant> granted_ahead() const { return granted_ahead_; }

  /// True: an observer wants to know of insertions into the cache at once.
  [[nodiscard]] bool tells_insertions() const { return tells_insertions_; }

 private:
  using Slot = core::Slot;

  core::SlotState& at(Slot slot) { return batch_.at(slot); }
  [[nodiscard]] std::int64_t piece(std::int64_t wanted, std::int64_t budget) const;
  void schedule_running();
  void visit_running();
  [[nodiscard]] Slot next_prompt() const {
    return next_prompt_ < batch_.prompts.size() ? batch_.prompts[next_prompt_] : core::kNoSlot;
  }
  void hold_back_from(Slot slot);
  void tell_computed();
  [[nodiscard]] bool admits_none() const {
    return waiting_.empty() || budget_ == 0 || batch_.slots.running() == params_.max_seqs;
  }
  Status admit_waiting();
  bool schedule_prompt(Slot slot, std::int64_t tokens);
  void tell_piece(const Piece& piece);
  bool make_room(Slot slot, std::int64_t tokens);
  [[nodiscard]] Slot victim() const {
    return params_.by_priority ? batch_.preemption_order.first() : batch_.slots.youngest();
  }
  void preempt(Slot victim);
  void undo(Slot victim);
  bool grow_range(Slot slot);
  bool grant_decode_block(Slot slot);
  Slot grant_full(std::int64_t step, std::int64_t until_rank, std::vector<core::DecodeGrant>& granted);
  Slot next_to_grow() { return batch_.growths.due(batch_.step) ? batch_.growths.take() : core::kNoSlot; }
  [[nodiscard]] core::DecodeGrant newest_grant(RequestId request, std::int64_t alloc_units) const {
    const core::BlockTable table = allocator_.table(request);
    return {request, ids_ ? table.ids.back() : kNoBlock, table.alloc_units - alloc_units, alloc_units};
  }
  void tell_moves();
  void tell_grant(RequestId request, std::int64_t before);
  void tell_decode_grants() {
    if (decode_grants_.empty()) return;
    for (core::Observer* o : observers_) o->on_decode_grants(decode_grants_);
    decode_grants_.clear();
  }

  const Params params_;
  Batch batch_;
  core::Allocator& allocator_;
  core::Contents* contents_;  // may be null
  std::span<core::Observer* const> observers_;
  bool costs_;    // placing moves ranges or takes time
  bool ids_;      // blocks have ids
  bool several_;  // a decoding request may be granted several allocation units at once
  bool tells_insertions_{false};
  bool
      // requests with full tables need one allocation unit each, and no observer asks for their order
      grants_together_;
  bool
      // decode runs are possible: all observers follow them, nothing asks what is cached, grants cost nothing
      decode_runs_;
  bool alike_{false};  // true: the next step can be like this one

  Waiting waiting_;
  core::Pass pass_{};
  core::PassMoves moves_;
  std::int64_t budget_{0};
  std::int64_t first_victim_rank_{0};  // admission rank of the eldest youngest-first victim of this step
  Slot need_{core::kNoSlot};           // the next decoding request to visit that needs room
  Slot fill_{core::kNoSlot};           // the next one to visit that has a block to insert into the cache
  std::size_t next_prompt_{0};         // index into batch_.prompts
  std::int64_t prompt_tokens_{0};      // tokens of the pieces scheduled so far
  Slot behind_{core::kNoSlot};         // the slot after the latest victim in the running list
  std::vector<Piece> pieces_;
  std::vector<core::DecodeGrant> decode_grants_;
  core::PrefixHit found_{};  // result of the latest lookup
  RequestId looked_up_{-1};
  std::uint64_t looked_up_epoch_{0};

  std::vector<RequestId> full_;  // requests with full tables in one step
  std::vector<core::GrantingPass> granting_passes_;
  std::vector<core::DecodeGrant> granted_ahead_;
};

}  // namespace kvplan::scheduling::vllm
