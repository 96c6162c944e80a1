// What the engine tells. Statistics, ledger, timelines and logs are observers; the engine keeps none of
// these.
//
// Order of calls, for one replica:
//   on_arrival*            every arrival up to the moment of the pass (also while steps run; times ascend)
//   on_pass_begin          the scheduler runs; from here to on_pass_end in the order in which it decides:
//     on_preempt, on_free_blocks, on_move, on_admit, on_settle, on_course, on_grant, on_decode_grants, on_hold_back,
//     on_chunk; between them, if some observer wants publications, on_insert and on_evict_block as blocks become
//     findable and are given up; of a tree on_evict_pages, behind on_settle and on_preempt and before all else
//   on_pass_end            the settled state of the pass
//   on_steps               one step, or a run of alike decode steps (see Steps); or on_decode_run: such runs with
//                          the passes between them (see DecodeRun)
//   on_copies_end          if the pass began copies (see Move)
//   on_step_end            the last of those steps has ended; then, in scheduling order:
//     on_first_token, on_drop, on_compact or on_settle, on_free_blocks, on_finish (with on_insert before a request
//     gives blocks back)
//   on_settled             what the step's end freed is free
// and again. A pass after which nothing runs is followed by none of the rest. After the last request: on_end. A pass
// that preempts everybody is followed by no step but by another pass at the same moment, which admits one of them to
// a memory that is empty; only where the room that a request needs is more than one allocation unit can that be. So
// is one after which everybody who is left is held back or has a prompt that was not reached.
//
// A token scheduled in a step is written when the step ends. Requests that decode write one token in every step,
// but for those that were held back in the pass before it.
//
// Which cells go: a request that has dropped cells by a keep rule drops its oldest unprotected cell with every
// further token after which it goes on: on_drop tells the first drop after an admission and, where memory comes
// back in allocation units, each later one that completes an allocation unit; the drops between follow from the rule.
// A request with a course drops at on_step_end what the course says. Which blocks come back: on_free_blocks tells those
// that this empties, and in a pass those that windows of layers have left behind, before they do; on_compact what
// survivors that have moved left behind them.
// Fast and naive stepping give the same calls, except that runs of equal steps may be split.
//
// Where allocation units have no ids (MemoryLayout::ids) the spans of ids below are empty, and `DecodeGrant::block` is
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
  bool again;               ///< it had been preempted before
  std::int64_t hit_tokens;  ///< found cached, not computed again
  std::span<const BlockId>
      hits;  ///< their blocks by entry of the table; kNoBlock where a window shows nothing
};

/// Fresh allocation units [first_block, first_block + allocation units) of a request's table, and their block ids;
/// for contiguous memory one id for all of them, the address in tokens; for tensors, of each the address and the
/// length in allocation units.
struct Grant {
  RequestId request;
  std::int64_t first_block;
  std::int64_t alloc_units;
  std::span<const BlockId> blocks;
  std::int64_t tensor_tokens{0};  ///< that tensors are long (MemoryLayout::form)
};

/// The range of a request has moved (RangeMove says how). Told before the admission or grant that it makes room
/// for; a range that is copied to grow is granted nothing beside.
struct Move {
  RangeMove range;
  std::int64_t copied;  ///< leading slots whose content goes along: those that were written
};

/// A fresh block for a request that decodes; of several tables (MemoryLayout::tables) one for each that needs it.
struct DecodeGrant {
  RequestId request;
  BlockId block;
  std::int64_t logical_block;
  std::int64_t alloc_units{1};
};

/// A piece of a prompt (or of what is recomputed): tokens [computed, computed + tokens) are computed in this
/// step.
struct Chunk {
  RequestId request;
  std::int64_t computed;
  std::int64_t tokens;
};

/// A request leaves the running list: it ended, or was preempted and waits again with nothing kept.
struct Release {
  RequestId request;
  std::int64_t written;      ///< tokens it had written
  std::int64_t alloc_units;  ///< length of its table
  std::span<const BlockId>
      table;                ///< blocks by logical block, kNoBlock where let go before; freed tail first
  std::int64_t in_tree{0};  ///< of `written`, the first ones: they stay in the tree (MemoryLayout::tree)
};

/// Written tokens [from, to) of a request, whole allocation units, are the tree's from now on, or, where it had them
/// already, come back. The request goes on and holds what the tree has of them.
struct Settled {
  RequestId request;
  std::int64_t from;
  std::int64_t to;
};

/// Cells [sink, begin) of a request are no longer kept. Before, they were dropped up to `begin_before`
/// (= sink, or the earlier `begin`).
struct Drop {
  RequestId request;
  std::int64_t sink;
  std::int64_t begin_before;
  std::int64_t begin;
  std::span<const BlockId> table;  ///< as it is before blocks of it come back
};

/// Blocks come back from a request that goes on. At the end of a step, those in which it keeps nothing any more. Where
/// layers have windows, those of which no window shows anything, before the request is granted what it needs next: even
/// if that is refused and it is preempted itself.
struct FreedBlocks {
  RequestId request;
  std::int64_t written;                   ///< tokens it has written
  std::span<const std::int32_t> entries;  ///< of its table, in the order in which they come back
  std::span<const BlockId> table;         ///< as it is before they do
};

/// The survivors of a request move together at the end of the step in which it wrote its `written`th token.
struct Compacted {
  RequestId request;
  std::int64_t written;
  Compaction moved;
};

/// The scheduler has decided.
struct Pass {
  SimTime time;
  std::int64_t running;   ///< members of the running list
  std::int64_t waiting;   ///< members of the waiting queue
  std::int64_t decoding;  ///< requests that compute one token after their prompt
  StepLoad load;
  LoadGrowth growth;       ///< how the load changes from step to step in a run of alike ones
  std::int64_t sampled;    ///< requests that will have a new token when the step ends
  std::int64_t preempted;  ///< requests preempted in this pass
  bool refused;     ///< an allocation was refused for lack of memory (also if a preemption then made room)
  Refusal refusal;  ///< why the last one was; kNone if none was
  PoolCounts pool;
  /// What placing (Placing::take_delay), and what moved at the end of the step before (LatencyModel::moving), adds to
  /// the step's duration; such a step is told alone.
  Ticks delay;

  void refuse(Refusal why) {
    refused = true;
    refusal = why;
  }
};

/// `series.steps` steps that begin at `pass.time`. More than one: every step computes one token for each of
/// `pass.decoding` requests (and, where nothing is kept, all that they had before), nothing is granted, freed,
/// admitted or finished before the last one ends, and each further pass is like the first.
struct Steps {
  const Pass& pass;
  StepSeries series;
  SimTime end;  ///< of the last of them
};

/// A pass that does nothing but grant a block to each of `grants` requests that decode.
struct GrantingPass {
  std::int64_t step;    ///< steps of the decode run before it, at least 1
  std::int64_t grants;  ///< at least 1
  PoolCounts pool;      ///< after it
};

/// Steps as above, all of one series, with passes between them that only grant: `passes` by ascending step.
/// Of each pass no other call tells; `grants` has theirs one behind the other, each pass's in admission
/// order. Nobody is waiting who could be admitted, and no pass is refused anything.
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
  /// The request follows this course until it leaves the running list; valid until then.
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
  /// Instead of on_steps, the calls at the end of each run but the last, and those for the passes between.
  virtual void on_decode_run(const DecodeRun& /*run*/) {}
  /// The copies of the pass are done: what they came from has come back.
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
  /// Of a tree (MemoryLayout::tree), if some observer wants publications: pages that went into it one behind the other
  /// leave it. Of all that ever went in, numbered from 0, these.
  virtual void on_evict_pages(std::int64_t /*first_page*/, std::int64_t /*pages*/) {}
  virtual void on_end(SimTime /*time*/) {}
  /// True: publications are told at the step in which a block fills; false: they may be put off until they
  /// could make a difference. Anything else that is told does not depend on it.
  [[nodiscard]] virtual bool wants_insertions() const { return false; }
  /// False: the engine never calls on_decode_run. For observers that want every pass, or that look at another
  /// observer's state as they are told (each is told a whole decode run before the next one is).
  [[nodiscard]] virtual bool follows_decode_runs() const { return false; }
};

}  // namespace kvplan::core
