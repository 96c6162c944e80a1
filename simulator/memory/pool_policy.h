// A replacement policy in a pool of blocks (memory.replacement): which cached block is handed out where one is needed.
// Both twins of a pool follow these rules, each with code of its own.
//
// Objects. The policy sees contents, not blocks. Contents are numbered from 0 as they are published for the first time
// in this pool; one that went and comes back has its number again.
//
// What it is told, and when:
//   insert   a content is published of which no copy can be found
//   touch    a request is admitted and finds it: its hits one by one, first to last; or another copy is published
//   unpin    the last request that holds one of its copies frees it. A request frees its table from the end, so that
//            the first of its blocks are the youngest
//   evict    a block is needed, and neither an empty nor a spare one is idle. Only contents that nobody holds may go.
//            What comes is not known: a block is handed out before anything is published in it
//   expire   a request is looked up (see below)
// A use has the logical block as depth, the request's tenant as category (those without one are a category, too), and
// the moment of the pass, or of the step's end, in whole nanoseconds since the trace's first arrival.
//
// Where layers lie in groups, a content is that of a block in one group, and a use has the logical block as depth in
// each. What an admitted request finds is told block by block, of each block group by group; what is published, group
// by group. What a window has left behind was let go as any other block, and is cached until it goes.
//
// Who goes. Of the blocks that nobody holds, in this order:
//   1. empty ones: nothing can be found in them. Those that nobody had yet first, by number; then as they were let go
//   2. spare copies: their content has another copy, held or not. The one that was let go first
//   3. the only copy of a content: the policy says which. With `leaves`, only of those that no cached content follows
//      which nobody holds; of any that nobody holds the last of those behind it is one. In groups a content follows
//      that of the block before it in its group, if that could be found when this one was published first
// vLLM's own queue takes whatever was let go first, so that it gives up contents while empty blocks are behind them. A
// policy ranks contents, and an empty block has none: keeping one costs nothing that anybody could find. So `lru` is
// vLLM's queue but for 1 and 2. A block that a token policy lets go of, or that a preempted request did, is let go as
// any other; it is empty where it was not full, or not published.
//
// Time. A content that the policy gives up by time alone (ttl) goes when a request is looked up, before that, all its
// copies, and these are empty from then on, let go last. Until then it counts as cached: nobody has asked. A request
// that was looked up and refused finds the same again for as long as nothing is granted, let go or published, so that
// time alone does not change what it finds. A router that asks what is cached sees what is there. With `leaves` a
// content is given up after those behind it, at the same time if theirs has come.
#pragma once

#include <memory>

#include "simulator/core/observer.h"
#include "simulator/memory/allocators.h"
#include "simulator/replacement/policy.h"

namespace kvplan::memory {

/// Tells a pool the time; and, by being there, that contents are published in the step in which their block fills,
/// and nothing is granted ahead of time.
class PoolClock final : public core::Observer {
 public:
  void on_pass_begin(SimTime time) override { now_ = time; }
  void on_step_end(SimTime time, std::span<const RequestId> /*finishing*/) override { now_ = time; }
  [[nodiscard]] bool wants_insertions() const override { return true; }

  [[nodiscard]] std::int64_t now_ns() const { return now_.since_start.count / kTicksPerNs; }

 private:
  SimTime now_{};
};

/// A policy, and what it is told of requests.
class PoolPolicy {
 public:
  /// `leaves`: a content goes only after those behind it.
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

/// False: blocks are handed out as vLLM does, or nothing is ever cached.
inline bool replaces_by_policy(const AllocatorRequest& request) {
  return request.prefix_cache && request.replacement != nullptr;
}

/// Errors: a parameter that cannot be, more contents than can be numbered. REQUIRES: replaces_by_policy.
Result<PoolPolicy> make_pool_policy(const core::MemoryLayout& layout, const AllocatorRequest& request);

}  // namespace kvplan::memory
