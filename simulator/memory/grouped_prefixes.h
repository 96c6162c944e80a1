// A prefix cache for groups of layers, with and without windows, that share one pool: which blocks vLLM V1 hits and
// which it evicts (vllm-project/vllm v0.15.1: kv_cache_coordinator.py, single_type_kv_cache_manager.py, block_pool.py).
// It uses plain containers and handles one block at a time. A replay without time uses it
// (scheduling/vllm/replay/seqswa.h) and is checked against recorded behaviour of vLLM. It is also the slow model of the
// pool that serves runs (allocator_grouped.cpp).
//
// A content has a name in each group. A hit of n blocks must exist in every group: a group without a window needs all n
// blocks; a group with a window W needs the last ceil((W - 1) / block) of them in a row, or all if there are fewer. The
// hit is the longest such n, searched group by group until no group shortens it. Blocks that a window does not show are
// not taken: their entries are empty from the start.
//
// With a replacement policy: the policy ranks contents of blocks in one group, and the depth of a use is the logical
// block. A hit is reported block by block, for each block group by group. A content follows the content of the block
// before it in its group, if a lookup could find that content when this one was first inserted.
//
// Calls for one request: lookup -> admit -> (leave_windows or free_entries, grow, insert)* -> release; requests may
// alternate.
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
  /// `windows`: by group, 0 for none. `blocks`: blocks of the pool, null block included. `state_blocks`: that each
  /// request holds beside its tables.
  GroupedPrefixes(const core::Workload& workload, std::int64_t block_tokens,
                  std::vector<std::int64_t> windows, std::int64_t blocks, bool prefix_cache,
                  std::int64_t state_blocks = 0);
  /// Starts counting cached blocks that no lookup reaches. REQUIRES: nothing was inserted.
  void follow_prefixes();
  /// A policy chooses the block to hand out from now on (pool_policy.h). REQUIRES: nothing is held or inserted.
  void set_policy(PoolPolicy policy);
  /// The observer through which the policy learns the time; null if there is none.
  core::Observer* clock() { return policy_ ? policy_->clock() : nullptr; }
  /// The listener gets insertions, by table entry, and evictions; may be null.
  void set_listener(core::BlockListener* listener) { listener_ = listener; }

  /// The hit of a request that computes `num_tokens`: at most num_tokens - 1 tokens.
  core::PrefixHit lookup(RequestId request, std::int64_t num_tokens);
  /// The tokens that lookup() would find; changes nothing.
  [[nodiscard]] std::int64_t cached_tokens(RequestId request, std::int64_t num_tokens) const;
  /// Admits the request with the hit of its latest lookup. False: there is no room, and nothing has changed.
  bool admit(RequestId request, std::int64_t tokens);
  bool grow(RequestId request, std::int64_t tokens);
  /// Frees blocks that lie completely below what the token at position `computed` sees, group by group, highest
  /// first.
  void leave_windows(RequestId request, std::int64_t computed);
  /// Frees these entries of its table, in this order (core::MemoryLayout::groups).
  void free_entries(RequestId request, std::span<const std::int32_t> entries);
  /// Makes the whole blocks of the first `tokens` tokens findable.
  void insert(RequestId request, std::int64_t tokens);
  void release(RequestId request);

  [[nodiscard]] bool holds(RequestId request) const { return holders_.count(request) != 0; }
  /// True: the request has room for `tokens` tokens without another block. REQUIRES: it is admitted.
  [[nodiscard]] bool has_room(RequestId request, std::int64_t tokens) const {
    return missing(holders_.at(request), tokens) == 0;
  }
  /// Block ids of a request in one group; kNoBlock where it has none.
  [[nodiscard]] std::span<const BlockId> table(RequestId request, std::size_t group) const {
    return holders_.at(request).tables[group];
  }
  /// Blocks that no request holds.
  [[nodiscard]] std::int64_t free_blocks() const {
    return pool_blocks_ - static_cast<std::int64_t>(blocks_.size()) + static_cast<std::int64_t>(free_.size());
  }
  [[nodiscard]] core::PoolCounts counts() const;
  [[nodiscard]] std::int64_t distinct_names() const { return static_cast<std::int64_t>(found_in_.size()); }
  /// Totals since the beginning: blocks handed out, and contents evicted for them.
  [[nodiscard]] std::int64_t taken() const { return taken_; }
  [[nodiscard]] std::int64_t evicted() const { return evicted_; }

 private:
  /// Group, request (-1: shared by several), number of the name.
  using Name = std::tuple<std::size_t, RequestId, std::int64_t>;
  struct Block {
    std::int64_t holders{0};
    bool named{false};
    Name name{};
    std::list<BlockId>::iterator place;  // position in free_, while no request holds it
  };
  struct Holder {
    std::vector<std::vector<BlockId>> tables;  // by group
    std::vector<BlockId> states;
    std::int64_t published{0};
  };

  [[nodiscard]] Name name(RequestId request, std::size_t group, std::int64_t block) const;
  [[nodiscard]] std::uint64_t number(const Name& name) const;
  /// Subtracts (-1) or adds (1) the content's idle copies in all counts.
  void count_copies(const Name& name, int sign);
  void change_holders(BlockId block, std::int64_t by);
  /// Blocks of the longest hit of at most `most` blocks in one group.
  [[nodiscard]] std::vector<BlockId> find(RequestId request, std::size_t group, std::int64_t most) const;
  /// Per group, the blocks of the longest hit of a request that computes this many tokens.
  [[nodiscard]] std::vector<std::vector<BlockId>> find_in_all(RequestId request,
                                                              std::int64_t num_tokens) const;
  [[nodiscard]] std::int64_t missing(const Holder& holder, std::int64_t tokens) const;
  void fill(Holder& holder, std::int64_t tokens);
  BlockId take();
  /// The block to hand out next, among blocks that were held before and are not held now.
  [[nodiscard]] BlockId next_block();
  /// Evicts the content of a block that no request holds.
  void give_up_name(BlockId b);
  /// Frees the block at one entry of a request's table.
  void give_back(BlockId& block, RequestId request, std::int64_t entry);
  [[nodiscard]] std::int64_t entry(std::int64_t block, std::size_t group) const {
    return block * std::ssize(windows_) + static_cast<std::int64_t>(group);
  }
  [[nodiscard]] bool is_unheld(const Name& name) const;
  Block& at(BlockId b) { return blocks_[index(b)]; }

  const core::Workload& workload_;
  core::ContentNames names_;
  std::int64_t block_tokens_;
  std::vector<std::int64_t> windows_;
  bool prefix_cache_;
  std::int64_t pool_blocks_;
  std::int64_t state_blocks_;
  std::vector<Block> blocks_;  // by id: all blocks that were ever handed out, and the null block
  std::list<BlockId>
      free_;  // freed blocks, the next to be handed out first; blocks never handed out come before them
  std::map<Name, std::vector<BlockId>> found_in_;  // the oldest copy first
  std::map<RequestId, Holder> holders_;
  Holder found_;  // the result of the latest lookup
  std::int64_t taken_{0}, evicted_{0};
  std::int64_t references_{0};  // blocks in all tables together
  std::int64_t cached_{0}, duplicates_{0};
  std::int64_t spare_{0};  // cached blocks with a content that other blocks have too
  std::optional<GroupReach> reach_;
  std::optional<PolicyModel<Name>> policy_;
  std::uint64_t epoch_{0};  // for the policy: changes with every grant, free and insertion
  core::BlockListener* listener_{nullptr};
};

}  // namespace kvplan::memory
