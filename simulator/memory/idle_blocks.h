// The blocks of a paged pool that nobody holds: which of them is handed out next. Two ways:
//   BlocksInQueue   vLLM's: one queue, whatever was let go first
//   BlocksByPolicy  memory.replacement: contents are ranked by a policy (pool_policy.h has the rules)
// A pool is made for one of them, so that vLLM's way costs no call.
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

/// First in, first out, with removal from the middle: a ring of ids in which a removed one leaves a gap.
/// Walking an array keeps the processor's loads independent, which a linked list does not.
class BlocksInQueue {
 public:
  static constexpr bool kByContent = false;

  /// Adds at the back. `place_of(id)` is where the id's place is kept: what `remove` needs.
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
  /// The front. REQUIRES: something is in it.
  BlockId take() {
    while (true) {
      const BlockId b = std::exchange(ring_[front_++ & mask_], kNoBlock);
      if (b == kNoBlock) continue;  // was taken out of the middle
      --ids_;
      return b;
    }
  }
  /// An id near the front, for fetching ahead; 0 where there is none.
  [[nodiscard]] BlockId ahead(std::uint64_t distance) const {
    return std::max(ring_[(front_ + distance) & mask_], BlockId{0});
  }

 private:
  /// Keeps the order and drops the gaps, in a ring that is at most half full.
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

/// It is told of contents, too, and knows them by number. Who holds what, and which copies a content has, the pool
/// knows and says.
class BlocksByPolicy {
 public:
  static constexpr bool kByContent = true;

  /// `shared_names`: how many there are (core::ContentNames). `groups` entries of a table are of one logical block.
  BlocksByPolicy(PoolPolicy policy, std::int64_t shared_names, std::int64_t groups = 1);
  BlocksByPolicy(const BlocksByPolicy&) = delete;
  BlocksByPolicy& operator=(const BlocksByPolicy&) = delete;

  /// Nobody holds it any more, and nothing can be found in it.
  void add_empty(BlockId b) { empty_.push_back(b); }
  /// Nobody holds it any more; this request was the last.
  void add_cached(BlockId b, bool only_copy, RequestId request, std::int64_t entry);
  /// Somebody holds it again, who found its content.
  void remove(BlockId b, std::uint32_t place);
  /// A request finds it; told after `remove`.
  void hit(BlockId b, RequestId request, std::int64_t entry);
  /// The next one. REQUIRES: there is one; what was published in it is given up at once.
  BlockId take();
  [[nodiscard]] static BlockId ahead(std::uint64_t /*distance*/) { return BlockId{0}; }

  /// The block, which is held, can be found from now on. `before`: one that has the content before it, kNoBlock for the
  /// first.
  void insert_shared(BlockId b, std::int64_t name, BlockId before, RequestId request, std::int64_t entry);
  void insert_own(BlockId b, BlockId before, RequestId request, std::int64_t entry);
  /// The content of an idle block has got another copy, or lost all others.
  void join_spares(BlockId b) { spare_.emplace(turn_of_[index(b)], b); }
  void leave_spares(BlockId b) { spare_.erase({turn_of_[index(b)], b}); }
  /// What was published in the block is given up; `next`: the oldest copy after it, kNoBlock if there is none.
  void lose_copy(BlockId b, BlockId next);
  /// What is given up by time alone: `give_up` is told the oldest copy of each, and gives up all of them.
  void expire(const std::function<void(BlockId)>& give_up);

  /// Nothing of the request is looked up any more.
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
  /// The content is cached by now and nobody holds it; or that has ended.
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
  // By block, those that were ever published or let go.
  std::vector<Id> content_of_;
  std::vector<std::uint64_t> turn_of_;  // in which it was let go
  // By content.
  std::vector<std::int32_t> held_copies_;
  std::vector<BlockId> oldest_copy_;  // kNoBlock: it cannot be found
  replacement::Leaves leaves_;        // where the rule holds: idle contents keep those before them
  Id numbered_below_;                 // what the policy was told
  Zeros<Id> shared_contents_;         // by name, one more than the number; 0: none yet
  std::unordered_map<RequestId, std::vector<Id>> own_contents_;  // by entry
  std::vector<Id> expired_;
};

}  // namespace kvplan::memory
