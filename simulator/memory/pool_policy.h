// How a pool of blocks uses a replacement policy (memory.replacement) to choose the cached block that is evicted. The
// fast and the slow version of a pool both follow these rules, each with its own code.
//
// Objects. The policy ranks contents, not blocks. Contents are numbered from 0 in the order in which they are first
// inserted into this pool; a content that was evicted and inserted again keeps its number.
//
// Calls of the policy, and when:
//   insert   a content is inserted of which no copy can be found
//   touch    a request is admitted and hits it: its hits one by one, first to last; or another copy is inserted
//   unpin    the last request that holds one of its copies frees it. A request frees its table from the end, so that
//            the first of its blocks are the youngest
//   evict    a block is needed, and neither an empty nor a spare one is idle. Only contents that no request holds may
//            be evicted. The new content is not known: a block is handed out before anything is inserted in it
//   expire   a request is looked up (see below)
// Each use has the logical block as its depth, the request's tenant as its category (a common one if it has no tenant),
// and as its time that of the pass or of the step's end, in whole nanoseconds since the trace's first arrival.
//
// Where layers lie in groups, a content is that of a block in one group, and the depth of a use is the logical block in
// each group. The hit of an admitted request is reported block by block, for each block group by group; insertions
// group by group. A block that a window has left behind is freed like any other, and cached until it is evicted.
//
// Victim order. Of the blocks that no request holds, the next block is taken from the first class that is not empty:
//   1. empty blocks, in which no content can be found: first those never held, by number; then in the order of freeing
//   2. spare copies: the content has another copy, held or not; the copy freed longest ago first
//   3. the only copy of a content: chosen by the policy. With `leaves`, only contents that no idle cached content
//      follows; behind every idle content there is such a leaf. In groups, a content follows the content of the block
//      before it in its group, if a lookup could find that content when this one was first inserted
// In contrast, vLLM's own queue takes the block that was freed longest ago, so it evicts contents while empty blocks
// are further back.
// An empty block has no content that the policy could rank, and evicting it loses nothing. So `lru` is vLLM's queue
// except for rules 1 and 2. A block freed by a token policy or by a preempted request is freed like any other; it is
// empty if it was not full, or not inserted.
//
// Time. A content that the policy evicts by time alone (ttl) is evicted before the next lookup of a request, with all
// its copies; their blocks are then empty and count as freed last. Until then it counts as cached. A request that was
// looked up and refused gets the same hit as long as nothing is granted, freed or inserted, so time alone does not
// change its hit. A router that asks what is cached sees the present state. With `leaves` a content is evicted after
// those behind it, at the same time if they have expired too.
#pragma once

#include <memory>

#include "simulator/core/observer.h"
#include "simulator/memory/allocators.h"
#include "simulator/replacement/policy.h"

namespace kvplan::memory {

/// Informs a pool of the time. A pool with a clock also gets insertions in the step in which their block fills, and no
/// grants ahead of time.
class PoolClock final : public core::Observer {
 public:
  void on_pass_begin(SimTime time) override { now_ = time; }
  void on_step_end(SimTime time, std::span<const RequestId> /*finishing*/) override { now_ = time; }
  [[nodiscard]] bool wants_insertions() const override { return true; }

  [[nodiscard]] std::int64_t now_ns() const { return now_.since_start.count / kTicksPerNs; }

 private:
  SimTime now_{};
};

/// A policy, and the properties of requests that it may use.
class PoolPolicy {
 public:
  /// `leaves`: a content is evicted only after the contents that follow it.
  PoolPolicy(std::unique_ptr<replacement::Policy> policy, bool leaves, const core::Workload& workload)
      : policy_(std::move(policy)), leaves_(leaves), workload_(&workload) {}
  replacement::Policy* operator->() const { return policy_.get(); }
  [[nodiscard]] bool leaves() const { return leaves_; }

  [[nodiscard]] replacement::Use use(replacement::Id content, RequestId request, std::int64_t logical_block,
                                     std::int64_t now_ns) const {
    const auto& tenant = workload_->tenant;
    return {.id = content,
            .depth = static_cast<std::uint32_t>(logical_block),
            .category = tenant.empty() ? 0 : static_cast<std::uint32_t>(tenant[index(request)] + 1),
            .time_ns = now_ns};
  }

 private:
  std::unique_ptr<replacement::Policy> policy_;
  bool leaves_;
  const core::Workload* workload_;
};

/// False: blocks are handed out as in vLLM, or nothing is ever cached.
inline bool replaces_by_policy(const AllocatorRequest& request) {
  return request.prefix_cache && request.replacement != nullptr;
}

/// Errors: an impossible parameter, more contents than can be numbered. REQUIRES: replaces_by_policy.
Result<PoolPolicy> make_pool_policy(const core::MemoryLayout& layout, const AllocatorRequest& request);

}  // namespace kvplan::memory
