// The decisions of vLLM's scheduler for a fast replica: who runs, in what pieces, who is admitted, who loses memory;
// and for how many passes it will decide nothing else (README.md). It asks and tells the allocator and the observers as
// it decides; time, and the ends of steps, are the replica's.
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

/// Tokens of a prompt that are computed in the step.
struct Piece {
  core::Slot slot;
  std::int64_t tokens;
};

class Scheduler {
 public:
  /// `run` and all that it names, and the allocator, outlive it.
  Scheduler(const core::ReplicaSetup& run, const Params& params, core::Allocator& allocator);

  /// Who runs. It alone takes requests in; the replica lets them advance, and leave.
  Batch& batch() { return batch_; }
  [[nodiscard]] const Batch& batch() const { return batch_; }

  /// Joins the queue, having arrived then.
  void join(RequestId request, SimTime arrival) {
    waiting_.join({batch_.workload.priority_of(request), arrival, request});
  }
  [[nodiscard]] std::int64_t waiting() const { return waiting_.size(); }

  /// One pass: what it decides is done and told. Errors: a course that cannot be had.
  Status decide(SimTime now);
  /// The latest pass, its pool as last looked at.
  [[nodiscard]] const core::Pass& pass() const { return pass_; }
  /// By rank.
  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  /// Something was granted, or came back, since.
  void set_pool(const core::PoolCounts& pool) { pass_.pool = pool; }
  core::PassMoves& moves() { return moves_; }

  /// After a pass: whether the next ones can be like it at all. Else its step is alone.
  [[nodiscard]] bool alike() const { return alike_; }
  /// Whether the passes that follow do nothing but grant blocks to decoding requests, until a request ends or begins to
  /// drop cells, an arrival, or a shortage. Nothing may be at the head of the queue that could be looked at: what is
  /// granted may take the place of content that it would find.
  [[nodiscard]] bool only_grants_follow() const {
    return decode_runs_ && alike_ && batch_.following.empty() && batch_.sums.sliding == 0 && admits_nobody();
  }
  /// So many steps in a row, the one of this pass included, are alike as long as nobody joins; `granting`: with passes
  /// between them that only grant. REQUIRES: alike(); granting is only_grants_follow() or false.
  [[nodiscard]] std::int64_t alike_steps(bool granting);
  /// Allocation units that decoding requests need in the passes before the `steps` steps behind this one.
  [[nodiscard]] std::int64_t alloc_units_ahead(std::int64_t steps) const {
    return batch_.phases.members_within(batch_.step, steps);
  }
  /// Does what the passes between `steps` such steps do. REQUIRES: steps <= alike_steps(true).
  void grant_ahead(std::int64_t steps);
  /// Of the latest grant_ahead.
  [[nodiscard]] std::span<const core::GrantingPass> granting_passes() const { return granting_passes_; }
  [[nodiscard]] std::span<const core::DecodeGrant> granted_ahead() const { return granted_ahead_; }

  /// Somebody wants to know of publications at once.
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
  [[nodiscard]] bool admits_nobody() const {
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
  bool several_;  // allocation units may be granted to a request that decodes
  bool tells_insertions_{false};
  bool
      grants_together_;  // those whose tables are full need one allocation unit each, and nobody asks who was first
  bool
      decode_runs_;  // there may be some: all observers follow them, nobody asks what is cached, grants cost nothing
  bool alike_{false};  // this pass and the next

  Waiting waiting_;
  core::Pass pass_{};
  core::PassMoves moves_;
  std::int64_t budget_{0};
  std::int64_t first_victim_rank_{0};  // of the youngest-first victims of this pass, the eldest
  Slot need_{core::kNoSlot};           // the next to visit of those that decode and need room
  Slot fill_{core::kNoSlot};           // and of those whose block is to be published
  std::size_t next_prompt_{0};         // of batch_.prompts
  std::int64_t prompt_tokens_{0};      // of the pieces scheduled so far
  Slot behind_{core::kNoSlot};         // the latest victim was before it in the running list
  std::vector<Piece> pieces_;
  std::vector<core::DecodeGrant> decode_grants_;
  core::PrefixHit found_{};  // by the latest lookup
  RequestId looked_up_{-1};
  std::uint64_t looked_up_epoch_{0};

  std::vector<RequestId> full_;  // of one pass: those whose tables are full
  std::vector<core::GrantingPass> granting_passes_;
  std::vector<core::DecodeGrant> granted_ahead_;
};

}  // namespace kvplan::scheduling::vllm
