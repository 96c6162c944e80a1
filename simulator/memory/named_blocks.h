// A pool of blocks that requests share by content: the holders of blocks, the contents that lookups can find, and the
// blocks that have them. Built on it: allocator_paged.cpp, and allocator_grouped_prefixes.cpp, where a block belongs to
// one group of layers. Those files decide which blocks a request needs and which contents it looks up.
// - A block that no request holds keeps its content, and can be hit, until it is handed out again.
// - Copies of one content coexist; lookups find the oldest.
// - Block 0 is the null block.
//
// Costs are per block, not per token, and there is no hashing: contents have dense names (core/workload.h), so the
// table from name to block is an array. A content that is unique to its request can only be hit by that request after
// a preemption, so it is stored with the request (`BlockHolder::heads`), not in the table.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/base/zeros.h"
#include "simulator/core/allocator.h"
#include "simulator/memory/block_holders.h"
#include "simulator/memory/idle_blocks.h"
#include "simulator/memory/prefix_reach.h"

namespace kvplan::memory {

/// `Idle` keeps the blocks that no request holds and chooses which is handed out: a class of idle_blocks.h. `Reach`
/// counts cached blocks that no lookup reaches, like PrefixReach. A content's name is one number; the names of a
/// request's own contents are those of content_order.h, made from entries of its table.
template <class Idle, class Reach>
class NamedBlocks {
 public:
  static constexpr BlockId kNullBlock{0};
  static constexpr std::uint64_t kNoName = ~std::uint64_t{0};
  static constexpr int kAhead = 8;  ///< blocks prefetched before they are freed

  /// `alloc_units`: blocks beside the null block. `shared_names`: number of shared names. `listener`: gets
  /// evictions and insertions; may be null, and be set later. `idle`: constructor arguments of Idle.
  template <class... MadeFrom>
  NamedBlocks(std::int64_t alloc_units, bool prefix_cache, std::int64_t shared_names,
              core::RequestColumn<std::int32_t> places, core::BlockListener* const& listener,
              MadeFrom&&... idle)
      : alloc_units_(alloc_units),
        prefix_cache_(prefix_cache),
        listener_(listener),
        blocks_(1),  // the null block
        copies_{{kNullBlock, kNullBlock}},
        idle_(std::forward<MadeFrom>(idle)...),
        holders_(std::move(places)),
        block_of_name_(prefix_cache ? static_cast<std::size_t>(shared_names) : 0),
        free_{alloc_units} {}

  [[nodiscard]] core::PoolCounts counts() const {
    return {.free = free_,
            .cached = cached_,
            .held = alloc_units_ - free_ - cached_,
            .distinct_names = distinct_,
            .duplicates = duplicates_,
            .unreachable = reach_ ? reach_->unreachable() : 0,
            .sharers = sharers_};
  }
  /// Blocks that can be handed out.
  [[nodiscard]] std::int64_t idle() const { return free_ + cached_; }
  [[nodiscard]] bool prefix_cache() const { return prefix_cache_; }
  /// A number that changes whenever the answer of the latest lookup may have changed. An inserted content changes it
  /// only if the latest lookup ended at that content.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  void begin_epoch() { ++epoch_; }
  Idle& idle_blocks() { return idle_; }

  [[nodiscard]] BlockHolders& holders() { return holders_; }
  [[nodiscard]] const BlockHolders& holders() const { return holders_; }
  /// Drops the data about the request. REQUIRES: it holds nothing.
  void forget(RequestId r) {
    if constexpr (Idle::kByContent) idle_.forget(r);
    holders_.forget(r);
  }

  // ---- lookups ----

  void begin_lookup() {
    missing_name_ = kNoName;
    ++lookup_stamp_;
  }
  /// Oldest findable copy of a shared content; the null block if there is none.
  [[nodiscard]] BlockId shared_copy(std::int64_t name) const {
    return block_of_name_[static_cast<std::size_t>(name)];
  }
  /// Oldest findable copy of a request's own content, kNoBlock if there is none.
  [[nodiscard]] BlockId own_copy(const BlockHolder& holder, RequestId r, std::int64_t block) const {
    const auto place = static_cast<std::size_t>(block);
    if (place >= holder.heads.size()) return kNoBlock;
    const BlockId b = holder.heads[place];
    return b != kNoBlock && at(b).name == own_name(r, block) ? b : kNoBlock;
  }

  /// A lookup hits this block. True: no request holds it.
  bool find(BlockId b) {
    at(b).stamp = lookup_stamp_;
    return at(b).refs == 0;
  }
  /// The lookup ends at this content, which is not cached.
  void miss(std::int64_t name) { missing_name_ = static_cast<std::uint64_t>(name); }

  /// Evicts the contents that the policy evicts by time alone. Not repeated for a request that waits at the head of
  /// the queue: as long as nothing else changes, it gets the same hit. So no result depends on how often it is looked
  /// up.
  void expire(RequestId r, std::int64_t num_tokens) {
    if (asked_ == Asked{r, num_tokens, epoch_}) return;
    idle_.expire([&](BlockId b) {
      for (bool last = false; !last;) {  // all copies, the oldest first
        const BlockId next = copies_[index(b)].next;
        last = is_only_copy(b);
        Block& block = at(b);
        idle_.leave_spares(b);
        leave_cache(block);
        give_up_name(b, block);
        ++free_;
        idle_.add_empty(b);
        b = next;
      }
    });
    asked_ = {r, num_tokens, epoch_};
  }

  // ---- holders ----

  /// A request holds one more block, which it hit; `logical`: the entry of its table.
  void hold(BlockId b, [[maybe_unused]] RequestId r, [[maybe_unused]] std::int64_t logical) {
    Block& block = at(b);
    if (block.refs++ == 0) {
      idle_.remove(b, block.place);
      leave_cache(block);
    } else {
      ++sharers_;
    }
    if constexpr (Idle::kByContent) idle_.hit(b, r, logical);
  }

  /// Hands out the next idle block. REQUIRES: there is one. Inlined with everything that it calls: many blocks are
  /// handed out at once, and a call for each would cost 4 % of a run with shared prefixes.
  [[gnu::always_inline]] BlockId take() {
    if (static_cast<std::int64_t>(blocks_.size()) <= alloc_units_) return take_new();
    __builtin_prefetch(&at(idle_.ahead(kAhead)));
    const BlockId b = idle_.take();
    Block& block = at(b);
    if (block.name != kNoName) {
      leave_cache(block);
      give_up_name(b, block);
    } else {
      --free_;
    }
    block.refs = 1;
    return b;
  }

  /// A request frees the block at this entry of its table.
  void free_block(BlockId b, [[maybe_unused]] RequestId r, [[maybe_unused]] std::int64_t logical) {
    Block& block = at(b);
    KVPLAN_CHECK(block.refs > 0, b);
    if (Idle::kByContent || block.stamp == lookup_stamp_) ++epoch_;
    if (--block.refs > 0) {
      --sharers_;
      return;
    }
    if constexpr (Idle::kByContent) {
      block.name == kNoName ? idle_.add_empty(b) : idle_.add_cached(b, is_only_copy(b), r, logical);
    } else {
      idle_.add(b, [&](BlockId id) -> std::uint32_t& { return at(id).place; });
    }
    if (block.name == kNoName) {
      ++free_;
    } else {
      enter_cache(block);
    }
  }

  /// Prefetches the block's record.
  void fetch(BlockId b) const { __builtin_prefetch(&at(b), 1); }

  /// Called before a running request frees a block: stores where the block's content can be found later, if it is the
  /// request's own. `entries`: entries of the complete table.
  template <class Entries>
  void remember(BlockHolder& holder, RequestId r, std::int64_t logical, BlockId block, Entries entries) {
    if (!prefix_cache_ || at(block).name != own_name(r, logical)) return;
    if (own_copy(holder, r, logical) != kNoBlock) return;
    const auto place = static_cast<std::size_t>(logical);
    if (holder.heads.size() <= place) holder.heads.resize(static_cast<std::size_t>(entries()), kNoBlock);
    holder.heads[place] = block;
  }

  // ---- contents ----

  /// A block that the request holds can be found from now on.
  void insert_shared(RequestId r, std::int64_t logical, BlockId block, std::int64_t name,
                     [[maybe_unused]] BlockId before) {
    BlockId& head = block_of_name_[static_cast<std::size_t>(name)];
    if (static_cast<std::uint64_t>(name) == missing_name_) ++epoch_;
    add_copy(block, static_cast<std::uint64_t>(name), head == kNullBlock ? kNoBlock : head);
    if (head == kNullBlock) head = block;
    if constexpr (Idle::kByContent) idle_.insert_shared(block, name, before, r, logical);
    if (listener_ != nullptr) listener_->on_insert(r, logical, block);
  }

  void insert_own(const BlockHolder& holder, RequestId r, std::int64_t logical, BlockId block,
                  [[maybe_unused]] BlockId before) {
    add_copy(block, own_name(r, logical), own_copy(holder, r, logical));
    if constexpr (Idle::kByContent) idle_.insert_own(block, before, r, logical);
    if (listener_ != nullptr) listener_->on_insert(r, logical, block);
  }

  /// Starts counting cached blocks that no lookup reaches. `made_from`: constructor arguments of Reach.
  template <class... MadeFrom>
  void follow_prefixes(MadeFrom&&... made_from) {
    if (reach_) return;
    reach_.emplace(std::forward<MadeFrom>(made_from)...);
    for (const Block& block : blocks_)
      if (block.name != kNoName && block.oldest) reach_->appear(block.name);
    for (const Block& block : blocks_)
      if (block.name != kNoName && block.refs == 0) reach_->add_cached(block.name, 1);
  }

 private:
  struct Block {
    std::uint64_t name{kNoName};
    std::uint32_t place{0};  // position among the idle blocks, while no request holds it
    std::int32_t refs{0};
    std::uint32_t stamp{0};  // latest lookup that hit it
    bool oldest{false};      // this block is the oldest copy of its content: the one that lookups find
  };
  /// The copies of one content form a ring, oldest first from the copy that lookups find. Most blocks are the only one.
  struct Copies {
    BlockId prev, next;
  };
  /// A lookup, and the epoch after it.
  struct Asked {
    RequestId request{-1};
    std::int64_t num_tokens{0};
    std::uint64_t epoch{0};
    bool operator==(const Asked&) const = default;
  };
  Block& at(BlockId b) { return blocks_[index(b)]; }
  [[nodiscard]] const Block& at(BlockId b) const { return blocks_[index(b)]; }

  /// Takes the next block that was never held. At first all blocks are in the queue, ordered by id, so blocks never
  /// held come before all freed ones. The records of a large pool take memory only as they are used.
  BlockId take_new() {
    const auto b = id_at<BlockId>(blocks_.size());
    blocks_.emplace_back().refs = 1;
    copies_.push_back({b, b});
    --free_;
    return b;
  }

  [[nodiscard]] bool is_only_copy(BlockId b) const { return copies_[index(b)].next == b; }

  /// Counts the block as cached: its content can be found and no request holds it.
  void enter_cache(const Block& block) {
    ++cached_;
    if (!block.oldest) ++duplicates_;
    if (reach_) reach_->add_cached(block.name, 1);
  }
  void leave_cache(const Block& block) {
    --cached_;
    if (!block.oldest) --duplicates_;
    if (reach_) reach_->add_cached(block.name, -1);
  }

  /// The block loses its content, because it is handed out again.
  [[gnu::always_inline]] void give_up_name(BlockId b, Block& block) {
    const std::uint64_t name = block.name;
    block.name = kNoName;
    if (block.stamp == lookup_stamp_) ++epoch_;
    if (listener_ != nullptr) listener_->on_evict_block(b);
    Copies& ring = copies_[index(b)];
    const BlockId next = ring.next;
    const bool last_copy = next == b;
    if (last_copy) {
      --distinct_;
      if (reach_) reach_->vanish(name);
    } else if (block.oldest) {
      at(next).oldest = true;
      if (at(next).refs == 0) --duplicates_;
    }
    block.oldest = false;
    if ((name & kOwnName) == 0) {
      BlockId& head = block_of_name_[static_cast<std::size_t>(name)];
      if (head == b) head = last_copy ? kNullBlock : next;
    } else if (!last_copy) {
      const auto r = id_at<RequestId>((name & ~kOwnName) >> 32);
      if (BlockHolder* const holder = holders_.find(r)) {
        auto& heads = holder->heads;
        const auto place = static_cast<std::size_t>(name & 0xFFFFFFFFU);
        if (place < heads.size() && heads[place] == b) heads[place] = next;
      }
    }
    if constexpr (Idle::kByContent) idle_.lose_copy(b, last_copy ? kNoBlock : next);
    if (last_copy) return;
    copies_[index(ring.prev)].next = next;
    copies_[index(next)].prev = ring.prev;
    ring = {b, b};
    if constexpr (Idle::kByContent)
      if (is_only_copy(next) && at(next).refs == 0) idle_.leave_spares(next);
  }

  /// Adds the block to the ring of `oldest`, behind the youngest copy; without other copies it stays alone.
  void add_copy(BlockId block, std::uint64_t name, BlockId oldest) {
    at(block).name = name;
    at(block).oldest = oldest == kNoBlock;
    if constexpr (Idle::kByContent) {
      ++epoch_;
      if (oldest != kNoBlock && is_only_copy(oldest) && at(oldest).refs == 0) idle_.join_spares(oldest);
    }
    if (oldest == kNoBlock) {
      ++distinct_;
      if (reach_) reach_->appear(name);
      return;
    }
    Copies& head = copies_[index(oldest)];
    copies_[index(block)] = {head.prev, oldest};
    copies_[index(head.prev)].next = block;
    head.prev = block;
  }

  std::int64_t alloc_units_;
  bool prefix_cache_;
  core::BlockListener* const& listener_;
  std::vector<Block> blocks_;   // by id, all blocks that were ever handed out
  std::vector<Copies> copies_;  // by id, as blocks_
  Idle idle_;
  BlockHolders holders_;
  Zeros<BlockId> block_of_name_;  // oldest findable copy by shared name; the null block if there is none
  std::int64_t free_;
  std::int64_t cached_{0};
  std::int64_t distinct_{0};
  std::int64_t duplicates_{0};
  std::int64_t sharers_{0};
  std::optional<Reach> reach_;
  std::uint64_t missing_name_{kNoName};
  std::uint32_t lookup_stamp_{0};
  std::uint64_t epoch_{0};
  Asked asked_;
};

}  // namespace kvplan::memory
