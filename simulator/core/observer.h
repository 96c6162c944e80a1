// What an engine reports. Statistics, ledger, timelines and logs are observers; the engine keeps none of these.
//
// A scheduler step (a "pass") decides what runs; one or more model steps follow. Order of calls, for one replica:
//   on_arrival*            every arrival up to the moment of the pass (also while steps run; times ascend)
//   on_pass_begin          the scheduler runs. Until on_pass_end, in the order in which it decides:
//     on_preempt, on_free_blocks, on_move, on_admit, on_settle, on_course, on_grant, on_decode_grants, on_hold_back,
//     on_chunk. If some observer wants insertions, on_insert and on_evict_block come between them, as blocks enter and
//     leave the prefix cache. Of a radix tree, on_evict_pages comes after on_settle and on_preempt, before all others
//   on_pass_end            the state after the pass
//   on_steps               one step, or a run of equal decode steps (see Steps); or on_decode_run: such runs with
//                          the passes between them (see DecodeRun)
//   on_copies_end          if the pass began copies (see Move)
//   on_step_end            the last of those steps has ended. Then, in scheduling order:
//     on_first_token, on_drop, on_compact or on_settle, on_free_blocks, on_finish (on_insert comes before a request
//     frees its blocks)
//   on_settled             everything that the end of the step freed is free
// And so on. If nothing runs after a pass, none of the calls below on_pass_end follow. After the last request: on_end.
//
// Two kinds of pass are followed by another pass at the same moment, not by a step: a pass that preempts every request
// (the next admits one to an empty memory; possible only where a request can need more than one allocation unit), and a
// pass after which every remaining request is held back or has a prompt that was not reached.
//
// A token scheduled in a step is written when the step ends. Decoding requests write one token in every step, except
// those that the pass before it held back.
//
// Dropped KV slots. Keep rule: a request that has begun to drop frees its oldest unprotected slot with every further
// token after which it goes on. on_drop reports the first drop after an admission and, where memory is freed in
// allocation units, each later one that completes a unit; the drops between follow from the rule. Course: the request
// drops at on_step_end what the course says.
// Freed blocks. on_free_blocks reports blocks that these drops empty and, during a pass, blocks that no window of their
// layers shows any more, before they are freed. on_compact reports blocks that moved survivors left behind.
// Fast and naive stepping give the same calls, except that runs of equal steps may be split.
//
// Where allocation units have no ids (MemoryLayout::ids), the spans of ids below are empty and `DecodeGrant::block` is
// kNoBlock.
#pragma once

#include <cstdint>
#include <span>

#include "simulator/base/ids.h"
#include "simulator/base/units.h"
#include "simulator/core/allocator.h"
#include "simulator/core/latency.h"
#include "simulator/courses/course.h"

namespace kvplan::core {

/// A request enters the running list.
struct Admission {
  RequestId request;
  bool again;               ///< true: it had been preempted before
  std::int64_t hit_tokens;  ///< tokens of the prefix hit, not computed again
  std::span<const BlockId>
      hits;  ///< blocks of the hit, by table entry; kNoBlock where a window does not show the block
};

/// New allocation units [first_block, first_block + alloc_units) of a request's table, and their block ids.
/// Contiguous memory: one id for all, the address in tokens. Tensors: for each tensor, address and length in
/// allocation units.
struct Grant {
  RequestId request;
  std::int64_t first_block;
  std::int64_t alloc_units;
  std::span<const BlockId> blocks;
  std::int64_t tensor_tokens{0};  ///< kTensors: length of the tensors, in tokens (MemoryLayout::form)
};

/// The range of a request has moved (see RangeMove). Reported before the admission or grant that it makes room
/// for. A range that is copied in order to grow gets no separate grant.
struct Move {
  RangeMove range;
  std::int64_t copied;  ///< leading slots that are copied: those that were written
};

/// A new block for a decoding request; with several tables (MemoryLayout::tables), one for each table that needs
/// it.
struct DecodeGrant {
  RequestId request;
  BlockId block;
  std::int64_t logical_block;
  std::int64_t alloc_units{1};
};

/// A chunk of a prompt (or of what is recomputed): the tokens [computed, computed + tokens) are computed in this
/// step.
struct Chunk {
  RequestId request;
  std::int64_t computed;
  std::int64_t tokens;
};

/// A request leaves the running list: it ended, or it was preempted and waits again without any KV.
struct Release {
  RequestId request;
  std::int64_t written;      ///< tokens it had written
  std::int64_t alloc_units;  ///< length of its table
  std::span<const BlockId>
      table;  ///< blocks by logical block, kNoBlock where freed before; freed from the end
  /// Of `written`, the first tokens: they stay in the radix tree (MemoryLayout::tree)
  std::int64_t in_tree{0};
};

/// The radix tree takes over the written tokens [from, to) of a request (whole allocation units); units with
/// content that the tree already has are freed. The request goes on and holds the tree's units.
struct Settled {
  RequestId request;
  std::int64_t from;
  std::int64_t to;
};

/// The KV slots [sink, begin) of a request are no longer kept. Before this call, the slots [sink, begin_before) were
/// not; `begin_before` is `sink` at the first drop, later the previous `begin`.
struct Drop {
  RequestId request;
  std::int64_t sink;
  std::int64_t begin_before;
  std::int64_t begin;
  std::span<const BlockId> table;  ///< the table before blocks of it are freed
};

/// Blocks of a request that goes on are freed. At the end of a step: blocks in which it keeps nothing any more.
/// During a pass, where layers have windows: blocks that no window shows any more, before the request is granted
/// what it needs next, even if that is then refused and the request itself is preempted.
struct FreedBlocks {
  RequestId request;
  std::int64_t written;                   ///< tokens it has written
  std::span<const std::int32_t> entries;  ///< entries of its table, in the order in which they are freed
  std::span<const BlockId> table;         ///< the table before they are freed
};

/// A request's surviving KV slots move together at the end of the step in which it wrote its `written`th token.
struct Compacted {
  RequestId request;
  std::int64_t written;
  Compaction moved;
};

/// The result of a scheduler step.
struct Pass {
  SimTime time;
  std::int64_t running;   ///< requests in the running list
  std::int64_t waiting;   ///< requests in the waiting queue
  std::int64_t decoding;  ///< requests that compute one token after their prompt
  StepLoad load;
  LoadGrowth growth;       ///< how the load changes from step to step in a run of equal decode steps
  std::int64_t sampled;    ///< requests that have a new token when the step ends
  std::int64_t preempted;  ///< requests preempted in this pass
  bool refused;     ///< an allocation was refused for lack of memory (also if a preemption then made room)
  Refusal refusal;  ///< reason of the last refusal; kNone if there was none
  PoolCounts pool;
  /// Time added to the step by placing (Placing::take_delay) and by moves at the end of the step before
  /// (LatencyModel::moving). A step with a delay is reported alone.
  Ticks delay;

  void refuse(Refusal why) {
    refused = true;
    refusal = why;
  }
};

/// `series.steps` steps that begin at `pass.time`. If more than one: every step computes one token for each of
/// `pass.decoding` requests (and, where no KV is stored, all tokens that they had before); nothing is granted,
/// freed, admitted or finished before the last step ends; each further pass is like the first.
struct Steps {
  const Pass& pass;
  StepSeries series;
  SimTime end;  ///< end of the last step
};

/// A pass that only grants a block to each of `grants` decoding requests.
struct GrantingPass {
  std::int64_t step;    ///< steps of the decode run before this pass, at least 1
  std::int64_t grants;  ///< at least 1
  PoolCounts pool;      ///< after it
};

/// A run of decode steps in one series, and the passes between them, which only grant blocks: `passes`, ascending by
/// step. No other call reports these passes. `grants` lists the grants of all passes one after the other; within a pass
/// they are in admission order. No waiting request could be admitted, and every pass gets what it asks for.
struct DecodeRun {
  const Pass& pass;
  StepSeries series;
  std::span<const GrantingPass> passes;  ///< not empty
  std::span<const DecodeGrant> grants;
  SimTime end;  ///< of the last step
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_arrival(SimTime /*time*/, RequestId /*request*/, bool /*accepted*/) {}
  virtual void on_pass_begin(SimTime /*time*/) {}
  virtual void on_preempt(const Release& /*release*/) {}
  virtual void on_admit(const Admission& /*admission*/) {}
  /// The request follows this course until it leaves the running list. The reference is valid until then.
  virtual void on_course(RequestId /*request*/, const Course& /*course*/) {}
  virtual void on_move(const Move& /*move*/) {}
  virtual void on_free_blocks(const FreedBlocks& /*gone*/) {}
  virtual void on_grant(const Grant& /*grant*/) {}
  virtual void on_decode_grants(std::span<const DecodeGrant> /*grants*/) {}
  /// The request decodes, but computes nothing until the next pass.
  virtual void on_hold_back(RequestId /*request*/) {}
  virtual void on_chunk(const Chunk& /*chunk*/) {}
  virtual void on_pass_end(const Pass& /*pass*/) {}
  virtual void on_steps(const Steps& /*steps*/) {}
  /// Replaces on_steps, the calls of the passes in between, and the calls at the end of each run of steps except the
  /// last.
  virtual void on_decode_run(const DecodeRun& /*run*/) {}
  /// The copies that the pass began are complete: the ranges at their old addresses are free.
  virtual void on_copies_end(SimTime /*time*/, std::span<const Move> /*copies*/, const PoolCounts& /*pool*/) {
  }
  /// `finishing`: requests that end with this step; they drop nothing more.
  virtual void on_step_end(SimTime /*time*/, std::span<const RequestId> /*finishing*/) {}
  virtual void on_first_token(SimTime /*time*/, RequestId /*request*/) {}
  virtual void on_drop(const Drop& /*drop*/) {}
  virtual void on_compact(const Compacted& /*compacted*/) {}
  virtual void on_settle(const Settled& /*settled*/) {}
  virtual void on_finish(SimTime /*time*/, const Release& /*release*/) {}
  /// Everything that the step's end freed is free.
  virtual void on_settled(SimTime /*time*/, const PoolCounts& /*pool*/) {}
  virtual void on_insert(RequestId /*request*/, std::int64_t /*logical_block*/, BlockId /*block*/) {}
  virtual void on_evict_block(BlockId /*block*/) {}
  /// The radix tree (MemoryLayout::tree) evicts `pages` pages that were inserted one after the other, the first
  /// of them number `first_page` of all pages ever inserted, counted from 0. Called only if some observer wants
  /// insertions.
  virtual void on_evict_pages(std::int64_t /*first_page*/, std::int64_t /*pages*/) {}
  virtual void on_end(SimTime /*time*/) {}
  /// True: insertions are reported in the step in which a block fills. False: they may be reported later, as long as no
  /// result changes. Nothing else depends on it.
  [[nodiscard]] virtual bool wants_insertions() const { return false; }
  /// False: the engine never calls on_decode_run. For observers that need every pass, or that read another
  /// observer's state when called (each observer gets a whole decode run before the next observer does).
  [[nodiscard]] virtual bool follows_decode_runs() const { return false; }
};

}  // namespace kvplan::core
