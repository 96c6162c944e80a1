// The blocks of a paged pool that no request holds, and the choice of the block that is handed out next. Two classes:
//   BlocksInQueue   vLLM's rule: one queue, the block freed longest ago first
//   BlocksByPolicy  memory.replacement: a policy ranks contents (pool_policy.h has the rules)
// A pool is compiled for one of these classes, so vLLM's rule costs no virtual call.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/base/zeros.h"
#include "simulator/memory/pool_policy.h"
#include "simulator/replacement/leaves.h"

namespace kvplan::memory {

/// First in, first out, with removal from the middle: a ring of ids in which a removed id leaves a gap. Walking
/// an array keeps the processor's loads independent, which a linked list does not.
class BlocksInQueue {
 public:
  static constexpr bool kByContent = false;

  /// Adds at the back. `place_of(id)` is where the id's position is stored; `remove` needs it.
  template <class PlaceOf>
  void add(BlockId b, PlaceOf place_of) {
    if (back_ - front_ == ring_.size()) make_room(place_of);
    place_of(b) = static_cast<std::uint32_t>(back_ & mask_);
    ring_[back_++ & mask_] = b;
    ++ids_;
  }
  void remove(BlockId /*block*/, std::uint32_t place) {
    ring_[place] = kNoBlock;
    --ids_;
  }
  /// Takes the front. REQUIRES: the queue is not empty.
  BlockId take() {
    while (true) {
      const BlockId b = std::exchange(ring_[front_++ & mask_], kNoBlock);
      if (b == kNoBlock) continue;  // gap of a removed id
      --ids_;
      return b;
    }
  }
  /// An id near the front, for prefetching; 0 if there is none.
  [[nodiscard]] BlockId ahead(std::uint64_t distance) const {
    return std::max(ring_[(front_ + distance) & mask_], BlockId{0});
  }

 private:
  /// Keeps the order and closes the gaps, in a ring that becomes at most half full.
  template <class PlaceOf>
  void make_room(PlaceOf place_of) {
    std::vector<BlockId> ring(std::bit_ceil(std::max<std::size_t>(2 * ids_, 64)), kNoBlock);
    std::size_t to = 0;
    for (std::uint64_t from = front_; from != back_; ++from) {
      const BlockId b = ring_[from & mask_];
      if (b == kNoBlock) continue;
      place_of(b) = static_cast<std::uint32_t>(to);
      ring[to++] = b;
    }
    ring_ = std::move(ring);
    mask_ = ring_.size() - 1;
    front_ = 0;
    back_ = to;
  }

  std::vector<BlockId> ring_{kNoBlock};
  std::uint64_t mask_{0};
  std::uint64_t front_{0}, back_{0};
  std::size_t ids_{0};
};

/// Hands out blocks by a replacement policy. It also stores the content of each block, and numbers contents. The pool
/// knows which requests hold a block and which copies a content has, and reports every change.
class BlocksByPolicy {
 public:
  static constexpr bool kByContent = true;

  /// `shared_names`: number of shared names (core::ContentNames). `groups`: table entries of each logical block.
  BlocksByPolicy(PoolPolicy policy, std::int64_t shared_names, std::int64_t groups = 1);
  BlocksByPolicy(const BlocksByPolicy&) = delete;
  BlocksByPolicy& operator=(const BlocksByPolicy&) = delete;

  /// Adds a block that no request holds and that has no content that a lookup can find.
  void add_empty(BlockId b) { empty_.push_back(b); }
  /// Adds a block that no request holds any more and that has a content; `request` was its last holder.
  void add_cached(BlockId b, bool only_copy, RequestId request, std::int64_t entry);
  /// Removes a block that a request holds again, because it hit its content.
  void remove(BlockId b, std::uint32_t place);
  /// A request hits the block; called after `remove`.
  void hit(BlockId b, RequestId request, std::int64_t entry);
  /// Takes the next block. REQUIRES: there is one; its content is evicted at once.
  BlockId take();
  [[nodiscard]] static BlockId ahead(std::uint64_t /*distance*/) { return BlockId{0}; }

  /// Lookups can find the content of the held block from now on. `before`: a block with the content before it, kNoBlock
  /// for the first.
  void insert_shared(BlockId b, std::int64_t name, BlockId before, RequestId request, std::int64_t entry);
  void insert_own(BlockId b, BlockId before, RequestId request, std::int64_t entry);
  /// The content of an idle block got another copy (`leave_spares`: all its other copies are gone).
  void join_spares(BlockId b) { spare_.emplace(turn_of_[index(b)], b); }
  void leave_spares(BlockId b) { spare_.erase({turn_of_[index(b)], b}); }
  /// The block loses its content; `next`: the oldest other copy of the content, kNoBlock if there is none.
  void lose_copy(BlockId b, BlockId next);
  /// Evicts contents by time alone: `give_up` gets the oldest copy of each expired content, and evicts all its copies.
  void expire(const std::function<void(BlockId)>& give_up);

  /// The request has ended: none of its own contents is looked up any more.
  void forget(RequestId request) { own_contents_.erase(request); }
  core::Observer* clock() { return &clock_; }

 private:
  using Id = replacement::Id;
  static constexpr Id kUnnumbered = replacement::kNoId;

  Id& content_of(BlockId b);
  Id number_next();
  void insert(BlockId b, Id content, BlockId before, RequestId request, std::int64_t entry);
  [[nodiscard]] replacement::Use use(Id content, RequestId request, std::int64_t entry) const {
    return policy_.use(content, request, entry / groups_, clock_.now_ns());
  }
  /// The content is cached and no request holds it any more (`leave_idle`: a request holds it, or it is evicted).
  void enter_idle(Id content) {
    if (policy_.leaves()) leaves_.enter(content);
  }
  void leave_idle(Id content);

  PoolPolicy policy_;
  std::int64_t groups_;
  PoolClock clock_;
  replacement::Policy::May may_go_;
  std::deque<BlockId> empty_;
  std::set<std::pair<std::uint64_t, BlockId>> spare_;  // by turn
  std::uint64_t turn_{0};
  // By block, for all blocks that were ever inserted or freed.
  std::vector<Id> content_of_;
  std::vector<std::uint64_t> turn_of_;  // the turn at which it was freed
  // By content.
  std::vector<std::int32_t> held_copies_;
  std::vector<BlockId> oldest_copy_;  // kNoBlock: no lookup can find it
  // used with `leaves`: an idle content keeps its predecessor from being evicted
  replacement::Leaves leaves_;
  Id numbered_below_;                                            // ids below this are known to the policy
  Zeros<Id> shared_contents_;                                    // by name: content number + 1; 0: none yet
  std::unordered_map<RequestId, std::vector<Id>> own_contents_;  // by entry
  std::vector<Id> expired_;
};

}  // namespace kvplan::memory
