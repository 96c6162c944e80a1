// A replacement policy in a pool of blocks (memory.replacement): which cached block is evicted when one is needed.
// Both twins of a pool follow these rules, each with code of its own.
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
// A use has the logical block as depth, the request's tenant as category (requests without one form a category, too),
// and as time that of the pass, or of the step's end, in whole nanoseconds since the trace's first arrival.
//
// Where layers lie in groups, a content is that of a block in one group, and the depth of a use is the logical block in
// each group. The hit of an admitted request is reported block by block, for each block group by group; insertions
// group by group. A block that a window has left behind is freed like any other, and cached until it is evicted.
//
// Victim order. Of the blocks that no request holds:
//   1. empty blocks, in which nothing can be found: first those never held, by number; then in the order of freeing
//   2. spare copies: the content has another copy, held or not; freed longest ago first
//   3. the only copy of a content: chosen by the policy. With `leaves` only contents that no idle cached content
//      follows; of any idle content, the last one behind it is such a leaf. In groups a content follows that of the
//      block before it in its group, if that one could be found when this one was first inserted
// vLLM's own queue takes the block that was freed longest ago, so it evicts contents while empty blocks are behind
// them.
// A policy ranks contents, and an empty block has none: evicting it loses nothing. So `lru` is vLLM's queue except for
// 1 and 2. A block freed by a token policy or by a preempted request is freed like any other; it is empty if it was not
// full, or not inserted.
//
// Time. A content that the policy evicts by time alone (ttl) is evicted before the next lookup of a request, with all
// its copies, which are then empty and count as freed last. Until then it counts as cached. A request that was looked
// up and refused gets the same hit as long as nothing is granted, freed or inserted, so time alone does not change
// its hit. A router that asks what is cached sees the present state. With `leaves` a content is evicted after those
// behind it, at the same time if they have expired too.
#pragma once

#include <memory>

#include "simulator/core/observer.h"
#include "simulator/memory/allocators.h"
#include "simulator/replacement/policy.h"

namespace kvplan::memory {

/// Tells a pool the time. Its presence also means that contents are inserted in the step in which their block
/// fills, and that nothing is granted ahead of time.
class PoolClock final : public core::Observer {
 public:
  void on_pass_begin(SimTime time) override { now_ = time; }
  void on_step_end(SimTime time, std::span<const RequestId> /*finishing*/) override { now_ = time; }
  [[nodiscard]] bool wants_insertions() const override { return true; }

  [[nodiscard]] std::int64_t now_ns() const { return now_.since_start.count / kTicksPerNs; }

 private:
  SimTime now_{};
};

/// A policy, and what it learns of requests.
class PoolPolicy {
 public:
  /// `leaves`: a content is evicted only after those that follow it.
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
