// Prefixes found again where groups of layers with and without windows share one pool: what vLLM V1 finds, and which
// block it gives up (vllm-project/vllm v0.15.1: kv_cache_coordinator.py, single_type_kv_cache_manager.py,
// block_pool.py). Plain containers, one block at a time. It serves a driver without time (drivers/vllm_seqswa.h), which
// recorded behaviour proves, and is the slow model of the pool that serves runs (allocator_grouped.cpp).
//
// A content has a name in each group. A hit of n blocks is one that every group has: a group without a window all n
// of them, one with a window W the last ceil((W - 1) / block) of them, one behind the other, or all if there are
// fewer. It is the longest such n, found group by group until none makes it shorter. What a window does not show is
// not taken: its entry is empty from the start.
//
// With a policy: its contents are those of blocks in a group; a use has the logical block as depth. Of what a request
// finds it is told block by block, of each block group by group. A content follows that of the block before it in its
// group, if that could be found when this one was published first.
//
// Life of a request: lookup -> admit -> (leave_windows or free_entries, grow, insert)* -> release, one request at a
// time or several.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "simulator/core/allocator.h"
#include "simulator/core/workload.h"
#include "simulator/memory/group_reach.h"
#include "simulator/memory/policy_model.h"

namespace kvplan::memory {

class GroupedPrefixes {
 public:
  /// `windows`: of each group, 0 for none. `blocks`: those of the pool, the null block included.
  GroupedPrefixes(const core::Workload& workload, std::int64_t block_tokens,
                  std::vector<std::int64_t> windows, std::int64_t blocks, bool prefix_cache);
  /// From now on cached blocks to which no lookup comes are counted. REQUIRES: nothing is published.
  void follow_prefixes();
  /// From now on a policy says which block is handed out (pool_policy.h). REQUIRES: nothing is held or published.
  void set_policy(PoolPolicy policy);
  /// What tells the policy the time; null where there is none.
  core::Observer* clock() { return policy_ ? policy_->clock() : nullptr; }
  /// Told of what is published, by entry of the table, and of what is given up; may be null.
  void set_listener(core::BlockListener* listener) { listener_ = listener; }

  /// What is found for a request that computes `num_tokens`: at most num_tokens - 1.
  core::PrefixHit lookup(RequestId request, std::int64_t num_tokens);
  /// The tokens that such a lookup would find; it leaves no trace.
  [[nodiscard]] std::int64_t cached_tokens(RequestId request, std::int64_t num_tokens) const;
  /// Takes what the latest lookup, for this request, found. False: there is no room and nothing has changed.
  bool admit(RequestId request, std::int64_t tokens);
  bool grow(RequestId request, std::int64_t tokens);
  /// Blocks wholly below what the token at position `computed` sees come back, group by group, the highest first.
  void leave_windows(RequestId request, std::int64_t computed);
  /// These entries of its table come back, in this order (core::MemoryLayout::groups).
  void free_entries(RequestId request, std::span<const std::int32_t> entries);
  /// Contents of whole blocks of the first `tokens` tokens can be found from now on.
  void insert(RequestId request, std::int64_t tokens);
  void release(RequestId request);

  [[nodiscard]] bool holds(RequestId request) const { return holders_.count(request) != 0; }
  /// Could the request hold so many tokens without another block? REQUIRES: it is admitted.
  [[nodiscard]] bool has_room(RequestId request, std::int64_t tokens) const {
    return missing(holders_.at(request), tokens) == 0;
  }
  /// Block ids of a request in one group; kNoBlock where it has none.
  [[nodiscard]] std::span<const BlockId> table(RequestId request, std::size_t group) const {
    return holders_.at(request).tables[group];
  }
  /// Blocks that nobody holds.
  [[nodiscard]] std::int64_t free_blocks() const {
    return pool_blocks_ - static_cast<std::int64_t>(blocks_.size()) + static_cast<std::int64_t>(free_.size());
  }
  [[nodiscard]] core::PoolCounts counts() const;
  [[nodiscard]] std::int64_t distinct_names() const { return static_cast<std::int64_t>(found_in_.size()); }
  /// Since the beginning: blocks that were handed out, and contents that were given up for it.
  [[nodiscard]] std::int64_t taken() const { return taken_; }
  [[nodiscard]] std::int64_t evicted() const { return evicted_; }

 private:
  /// Group, request (-1: shared by several), number of the name.
  using Name = std::tuple<std::size_t, RequestId, std::int64_t>;
  struct Block {
    std::int64_t holders{0};
    bool named{false};
    Name name{};
    std::list<BlockId>::iterator place;  // while nobody holds it
  };
  struct Holder {
    std::vector<std::vector<BlockId>> tables;  // by group
    std::int64_t published{0};
  };

  [[nodiscard]] Name name(RequestId request, std::size_t group, std::int64_t block) const;
  [[nodiscard]] std::uint64_t number(const Name& name) const;
  /// What the copies of a content that nobody holds count for is taken out (-1), or put in again (1).
  void count_copies(const Name& name, int sign);
  void change_holders(BlockId block, std::int64_t by);
  /// Blocks of a group that hold the longest hit of at most `most` blocks.
  [[nodiscard]] std::vector<BlockId> find(RequestId request, std::size_t group, std::int64_t most) const;
  /// Those of every group, for the longest hit of a request that computes so many tokens.
  [[nodiscard]] std::vector<std::vector<BlockId>> find_in_all(RequestId request,
                                                              std::int64_t num_tokens) const;
  [[nodiscard]] std::int64_t missing(const Holder& holder, std::int64_t tokens) const;
  void fill(Holder& holder, std::int64_t tokens);
  BlockId take();
  /// Of the blocks that nobody holds, which somebody has held, the one that is handed out.
  [[nodiscard]] BlockId next_block();
  /// Nobody finds the content of a block that nobody holds any more.
  void give_up_name(BlockId b);
  /// It comes back from an entry of a request's table.
  void give_back(BlockId& block, RequestId request, std::int64_t entry);
  [[nodiscard]] std::int64_t entry(std::int64_t block, std::size_t group) const {
    return block * std::ssize(windows_) + static_cast<std::int64_t>(group);
  }
  [[nodiscard]] bool nobody_holds(const Name& name) const;
  Block& at(BlockId b) { return blocks_[index(b)]; }

  const core::Workload& workload_;
  core::ContentNames names_;
  std::int64_t block_tokens_;
  std::vector<std::int64_t> windows_;
  bool prefix_cache_;
  std::int64_t pool_blocks_;
  std::vector<Block> blocks_;  // by id, those that were ever handed out, and the null block
  std::list<BlockId>
      free_;  // that came back, the next to be handed out first; those never handed out go before
  std::map<Name, std::vector<BlockId>> found_in_;  // the oldest copy first
  std::map<RequestId, Holder> holders_;
  Holder found_;  // by the latest lookup
  std::int64_t taken_{0}, evicted_{0};
  std::int64_t references_{0};  // entries of all tables that have a block
  std::int64_t cached_{0}, duplicates_{0};
  std::int64_t spare_{0};  // of what is cached, copies that are not the only ones
  std::optional<GroupReach> reach_;
  std::optional<PolicyModel<Name>> policy_;
  std::uint64_t epoch_{0};  // for the policy: changes with what is granted, let go or published
  core::BlockListener* listener_{nullptr};
};

}  // namespace kvplan::memory
