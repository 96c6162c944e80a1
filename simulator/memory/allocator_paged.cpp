// Paged memory with hash-chained prefix caching, as vLLM V1 does it (vllm-project/vllm v0.15.1,
// vllm/v1/core/block_pool.py, kv_cache_utils.py, single_type_kv_cache_manager.py):
// - one queue of blocks that nobody holds; fresh blocks come from its front, freed ones go to its back,
//   tail first;
// - a full block gets the name of its content when it is allocated for; a block in the queue keeps its name
//   and can be hit until it is handed out again; copies of one content stay side by side, the oldest is found
//   first;
// - block 0 is the null block.
//
// Costs per block, not per token, and no hashing: contents have dense names (core/workload.h), so the table
// from name to block is an array. A content that is unique to its request can only be found by that request
// after a preemption, so it is kept in the request (`Holder::heads`), not in the table. Where all contents
// are of that kind and nobody asks for ids, allocator_paged_runs.cpp serves instead.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/base/zeros.h"
#include "simulator/memory/paged_pool.h"
#include "simulator/memory/prefix_reach.h"

namespace kvplan::memory {
namespace {

using core::Found;
using core::MemoryLayout;
using core::PoolCounts;

constexpr BlockId kNullBlock = 0;
constexpr std::uint64_t kNoName = ~std::uint64_t{0};
constexpr std::int64_t kMostBlocks = std::int64_t{1}
                                     << 25;  // some 50 bytes of our own memory each, once used
constexpr int kAhead = 8;                    // blocks fetched before they are let go

/// First in, first out, with removal from the middle: a ring of ids in which a removed one leaves a gap.
/// Walking an array keeps the processor's loads independent, which a linked list does not.
class BlockQueue {
 public:
  /// Adds at the back. `place_of(id)` is where the id's place is kept: what `remove` needs.
  template <class PlaceOf>
  void push(BlockId b, PlaceOf place_of) {
    if (back_ - front_ == ring_.size()) make_room(place_of);
    place_of(b) = static_cast<std::uint32_t>(back_ & mask_);
    ring_[back_++ & mask_] = b;
    ++ids_;
  }
  void remove(std::uint32_t place) {
    ring_[place] = kNoBlock;
    --ids_;
  }
  /// The front. REQUIRES: something is in it.
  BlockId pop() {
    while (true) {
      const BlockId b = std::exchange(ring_[front_++ & mask_], kNoBlock);
      if (b == kNoBlock) continue;  // was taken out of the middle
      --ids_;
      return b;
    }
  }
  /// An id near the front, for fetching ahead; 0 where there is none.
  [[nodiscard]] BlockId ahead(std::uint64_t distance) const {
    return std::max<BlockId>(ring_[(front_ + distance) & mask_], 0);
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

class PagedAllocator final : public core::Allocator {
 public:
  PagedAllocator(const MemoryLayout& layout, const AllocatorRequest& request)
      : layout_(layout),
        workload_(*request.workload),
        names_(workload_, layout.quantum_tokens),
        prefix_cache_(request.prefix_cache),
        blocks_(1),  // the null block
        copies_{{0, 0}},
        holder_of_(request.places()),
        block_of_name_(prefix_cache_ ? static_cast<std::size_t>(names_.shared_count()) : 0),
        free_{layout.quanta} {}

  const MemoryLayout& layout() const override { return layout_; }
  PoolCounts counts() const override {
    return {.free = free_,
            .cached = cached_,
            .held = layout_.quanta - free_ - cached_,
            .distinct_names = distinct_,
            .duplicates = duplicates_,
            .unreachable = reach_ ? reach_->unreachable() : 0,
            .sharers = sharers_};
  }
  std::int64_t growth_tokens() const override { return layout_.quantum_tokens; }
  bool fits_empty(RequestId r) const override {
    return ceil_div(workload_.final_tokens(r), layout_.quantum_tokens) <= layout_.quanta;
  }
  std::uint64_t lookup_epoch() const override { return epoch_; }

  Found lookup(RequestId r, std::int64_t num_tokens) override {
    found_.clear();
    missing_name_ = kNoName;
    ++lookup_stamp_;
    Found found;
    if (!prefix_cache_) return found;
    const std::int64_t most = (num_tokens - 1) / layout_.quantum_tokens;
    const std::int64_t shared = std::min(names_.shared_blocks(r), most);
    const std::int64_t row = names_.row_length();
    const auto hit = [&](BlockId block) {
      found_.push_back(block);
      at(block).stamp = lookup_stamp_;
      if (at(block).refs == 0) ++found.idle;
    };
    bool missed = false;
    for (std::int64_t b = 0; b < shared && !missed;) {
      const std::int64_t first = names_.first_name(r, b / row);
      const std::int64_t in_row = std::min(row, shared - b);
      for (std::int64_t i = 0; i < in_row; ++i, ++b) {
        const BlockId block = block_of_name_[static_cast<std::size_t>(first + i)];
        if (block == kNullBlock) {
          missing_name_ = static_cast<std::uint64_t>(first + i);
          missed = true;
          break;
        }
        hit(block);
      }
    }
    const Holder* holder = missed ? nullptr : holder_or_null(r);
    for (std::int64_t b = shared; holder != nullptr && b < most; ++b) {
      const BlockId block = own_copy(*holder, r, b);
      if (block == kNoBlock) break;
      hit(block);
    }
    found.tokens = static_cast<std::int64_t>(found_.size()) * layout_.quantum_tokens;
    return found;
  }

  std::int64_t cached_tokens(RequestId r, std::int64_t num_tokens) const override {
    if (!prefix_cache_) return 0;
    const std::int64_t most = (num_tokens - 1) / layout_.quantum_tokens;
    const std::int64_t shared = std::min(names_.shared_blocks(r), most);
    std::int64_t b = 0;
    while (b < shared && block_of_name_[static_cast<std::size_t>(names_.shared_name(r, b))] != kNullBlock)
      ++b;
    const Holder* holder = b < shared ? nullptr : holder_or_null(r);
    while (holder != nullptr && b < most && own_copy(*holder, r, b) != kNoBlock) ++b;
    return b * layout_.quantum_tokens;
  }

  bool admit(RequestId r, const Found& found, std::int64_t tokens) override {
    const auto hits = static_cast<std::int64_t>(found_.size());
    const std::int64_t fresh = ceil_div(tokens, layout_.quantum_tokens) - hits;
    if (fresh + found.idle > free_ + cached_) return false;
    Holder& holder = holder_for(r);
    KVPLAN_CHECK(holder.blocks.empty(), r);
    holder.blocks.reserve(static_cast<std::size_t>(hits + fresh));
    for (const BlockId b : found_) {
      Block& block = at(b);
      if (block.refs++ == 0) {
        queue_.remove(block.place);
        leave_cache(block);
      } else {
        ++sharers_;
      }
      holder.blocks.push_back(b);
    }
    holder.published = hits;
    holder.lossy = false;
    take(holder, fresh);
    ++epoch_;
    return true;
  }

  bool grow(RequestId r, std::int64_t tokens) override {
    Holder& holder = existing(r);
    const std::int64_t fresh =
        ceil_div(tokens, layout_.quantum_tokens) - static_cast<std::int64_t>(holder.blocks.size());
    if (fresh > free_ + cached_) return false;
    // A decoding request asks when its table is full; what filled in earlier steps has been findable since
    // then, so it must be so before anything is handed out. Where somebody listens, `publish` came in time.
    const std::int64_t room = static_cast<std::int64_t>(holder.blocks.size()) * layout_.quantum_tokens;
    if (listener_ == nullptr && tokens == room + 1) make_findable(holder, r, room);
    take(holder, fresh);
    return true;
  }

  void publish(RequestId r, std::int64_t tokens) override { make_findable(existing(r), r, tokens); }

  Dropped drop(RequestId r, std::int64_t sink, std::int64_t begin, std::int64_t written) override {
    Holder& holder = existing(r);
    make_findable(holder, r, written);  // filled before this drop
    holder.lossy = true;
    follow_prefixes();
    const std::int64_t first = ceil_div(sink, layout_.quantum_tokens);
    const std::int64_t end = std::min(begin, written) / layout_.quantum_tokens;
    Dropped dropped{first, 0};
    for (std::int64_t b = end - 1; b >= first; --b) {
      BlockId& block = holder.blocks[static_cast<std::size_t>(b)];
      if (block == kNoBlock) break;  // everything below was let go before
      remember(holder, r, b, block);
      let_go(block);
      block = kNoBlock;
      dropped.first = b;
      ++dropped.count;
    }
    return dropped;
  }

  void let_go(RequestId r, std::span<const std::int32_t> logical_blocks) override {
    KVPLAN_CHECK(!prefix_cache_, r);
    Holder& holder = existing(r);
    for (const std::int32_t logical : logical_blocks)
      let_go(std::exchange(holder.blocks[static_cast<std::size_t>(logical)], kNoBlock));
  }

  void cut_table(RequestId r, std::int64_t quanta) override {
    KVPLAN_CHECK(!prefix_cache_, r);
    auto& blocks = existing(r).blocks;
    for (; static_cast<std::int64_t>(blocks.size()) > quanta; blocks.pop_back()) let_go(blocks.back());
  }

  void release(RequestId r, std::int64_t written) override {
    Holder& holder = existing(r);
    make_findable(holder, r, written);
    const bool comes_back = written < workload_.final_tokens(r);
    for (auto b = static_cast<std::int64_t>(holder.blocks.size()) - 1; b >= 0; --b) {
      const BlockId block = holder.blocks[static_cast<std::size_t>(b)];
      if (b >= kAhead && holder.blocks[static_cast<std::size_t>(b - kAhead)] != kNoBlock)
        __builtin_prefetch(&at(holder.blocks[static_cast<std::size_t>(b - kAhead)]), 1);
      if (block == kNoBlock) continue;
      if (comes_back) remember(holder, r, b, block);
      let_go(block);
    }
    holder.blocks.clear();
  }

  void forget(RequestId r) override {
    std::int32_t& slot = holder_of_[r];
    if (slot < 0) return;
    Holder& holder = holders_[static_cast<std::size_t>(slot)];
    KVPLAN_CHECK(holder.blocks.empty(), r);
    holder.heads.clear();
    idle_holders_.push_back(slot);
    slot = -1;
  }

  std::span<const BlockId> table(RequestId r) const override {
    const Holder* holder = holder_or_null(r);
    return holder == nullptr ? std::span<const BlockId>{} : holder->blocks;
  }
  std::int64_t table_quanta(RequestId r) const override { return static_cast<std::int64_t>(table(r).size()); }

 private:
  struct Block {
    std::uint64_t name{kNoName};
    std::uint32_t place{0};  // in the queue, while nobody holds it
    std::int32_t refs{0};
    std::uint32_t stamp{0};  // lookup that found it last
    bool oldest{false};      // of the copies of its content: the one that lookups find
  };
  /// Ring of the copies of one content, oldest first from where lookups begin. Most blocks are alone in
  /// theirs.
  struct Copies {
    BlockId prev, next;
  };
  struct Holder {
    std::vector<BlockId> blocks;  // by logical block; kNoBlock where let go
    std::vector<BlockId> heads;   // by logical block: oldest findable copy of own content; check its name
    std::int64_t published{0};    // leading blocks that have been made findable
    bool lossy{false};            // has dropped a cell since its admission
  };

  Block& at(BlockId b) { return blocks_[static_cast<std::size_t>(b)]; }
  [[nodiscard]] const Block& at(BlockId b) const { return blocks_[static_cast<std::size_t>(b)]; }

  [[nodiscard]] const Holder* holder_or_null(RequestId r) const {
    const std::int32_t slot = holder_of_[r];
    return slot < 0 ? nullptr : &holders_[static_cast<std::size_t>(slot)];
  }
  Holder& existing(RequestId r) {
    const std::int32_t slot = holder_of_[r];
    KVPLAN_CHECK(slot >= 0, r);
    return holders_[static_cast<std::size_t>(slot)];
  }
  Holder& holder_for(RequestId r) {
    std::int32_t& slot = holder_of_[r];
    if (slot < 0) {
      if (idle_holders_.empty()) {
        idle_holders_.push_back(static_cast<std::int32_t>(holders_.size()));
        holders_.emplace_back();
      }
      slot = idle_holders_.back();
      idle_holders_.pop_back();
    }
    return holders_[static_cast<std::size_t>(slot)];
  }

  /// Hands out the front of the queue. REQUIRES: it is that long.
  void take(Holder& holder, std::int64_t count) {
    for (; count > 0; --count) {
      if (static_cast<std::int64_t>(blocks_.size()) <= layout_.quanta) {
        holder.blocks.push_back(take_new());
        continue;
      }
      __builtin_prefetch(&at(queue_.ahead(kAhead)));
      const BlockId b = queue_.pop();
      Block& block = at(b);
      if (block.name != kNoName) {
        leave_cache(block);
        give_up_name(b, block);
      } else {
        --free_;
      }
      block.refs = 1;
      holder.blocks.push_back(b);
    }
  }

  /// The next block that nobody has held yet. In the beginning all are in the queue, by id, so that these come
  /// before any that was let go; a large pool takes our own memory only as it is used.
  BlockId take_new() {
    const auto b = static_cast<BlockId>(blocks_.size());
    blocks_.emplace_back().refs = 1;
    copies_.push_back({b, b});
    --free_;
    return b;
  }

  void let_go(BlockId b) {
    Block& block = at(b);
    KVPLAN_CHECK(block.refs > 0, b);
    if (block.stamp == lookup_stamp_) ++epoch_;
    if (--block.refs > 0) {
      --sharers_;
      return;
    }
    queue_.push(b, [&](BlockId id) -> std::uint32_t& { return at(id).place; });
    if (block.name == kNoName) {
      ++free_;
    } else {
      enter_cache(block);
    }
  }

  /// Its content can be found and nobody holds it.
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

  /// From the first drop on, what is cached may outlive its prefix. Before, a request lets go of its table from the
  /// end, so that a block comes to the front of the queue before all that its content follows.
  void follow_prefixes() {
    if (!prefix_cache_ || reach_) return;
    reach_.emplace(workload_, names_);
    for (const Block& block : blocks_)
      if (block.name != kNoName && block.oldest) reach_->appear(block.name);
    for (const Block& block : blocks_)
      if (block.name != kNoName && block.refs == 0) reach_->add_cached(block.name, 1);
  }

  /// A content can be found no longer in this block: it is handed out again.
  void give_up_name(BlockId b, Block& block) {
    const std::uint64_t name = block.name;
    block.name = kNoName;
    if (block.stamp == lookup_stamp_) ++epoch_;
    if (listener_ != nullptr) listener_->on_reclaim(b);
    Copies& ring = copies_[static_cast<std::size_t>(b)];
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
      const auto r = static_cast<RequestId>((name & ~kOwnName) >> 32);
      const std::int32_t slot = holder_of_[r];
      if (slot >= 0) {
        auto& heads = holders_[static_cast<std::size_t>(slot)].heads;
        const auto place = static_cast<std::size_t>(name & 0xFFFFFFFFU);
        if (place < heads.size() && heads[place] == b) heads[place] = next;
      }
    }
    if (last_copy) return;
    copies_[static_cast<std::size_t>(ring.prev)].next = next;
    copies_[static_cast<std::size_t>(next)].prev = ring.prev;
    ring = {b, b};
  }

  /// Oldest findable copy of a request's own content, kNoBlock if there is none.
  [[nodiscard]] BlockId own_copy(const Holder& holder, RequestId r, std::int64_t block) const {
    const auto place = static_cast<std::size_t>(block);
    if (place >= holder.heads.size()) return kNoBlock;
    const BlockId b = holder.heads[place];
    return b != kNoBlock && at(b).name == own_name(r, block) ? b : kNoBlock;
  }

  /// Before a block is let go by a request that goes on: where its own content can be found later.
  void remember(Holder& holder, RequestId r, std::int64_t logical, BlockId block) {
    if (!prefix_cache_ || at(block).name != own_name(r, logical)) return;
    if (own_copy(holder, r, logical) != kNoBlock) return;
    const auto place = static_cast<std::size_t>(logical);
    if (holder.heads.size() <= place)
      holder.heads.resize(
          static_cast<std::size_t>(ceil_div(workload_.final_tokens(r), layout_.quantum_tokens)), kNoBlock);
    holder.heads[place] = block;
  }

  /// Makes the blocks that the first `tokens` tokens fill findable, unless a cell was dropped before they
  /// filled.
  void make_findable(Holder& holder, RequestId r, std::int64_t tokens) {
    if (!prefix_cache_ || holder.lossy) return;
    const std::int64_t full = tokens / layout_.quantum_tokens;
    if (holder.published >= full) return;
    const std::int64_t shared = std::min(names_.shared_blocks(r), full);
    const std::int64_t row = names_.row_length();
    std::int64_t b = holder.published;
    while (b < shared) {
      const std::int64_t end = std::min((b / row + 1) * row, shared);
      std::int64_t name = names_.first_name(r, b / row) + b % row;
      for (; b < end; ++b, ++name) publish_shared(r, b, holder.blocks[static_cast<std::size_t>(b)], name);
    }
    for (; b < full; ++b) publish_own(holder, r, b, holder.blocks[static_cast<std::size_t>(b)]);
    holder.published = full;
  }

  void publish_shared(RequestId r, std::int64_t logical, BlockId block, std::int64_t name) {
    BlockId& head = block_of_name_[static_cast<std::size_t>(name)];
    if (static_cast<std::uint64_t>(name) == missing_name_) ++epoch_;
    add_copy(block, static_cast<std::uint64_t>(name), head == kNullBlock ? kNoBlock : head);
    if (head == kNullBlock) head = block;
    if (listener_ != nullptr) listener_->on_publish(r, logical, block);
  }

  void publish_own(const Holder& holder, RequestId r, std::int64_t logical, BlockId block) {
    add_copy(block, own_name(r, logical), own_copy(holder, r, logical));
    if (listener_ != nullptr) listener_->on_publish(r, logical, block);
  }

  /// Joins the ring of `oldest` behind its youngest copy, or stays alone.
  void add_copy(BlockId block, std::uint64_t name, BlockId oldest) {
    at(block).name = name;
    at(block).oldest = oldest == kNoBlock;
    if (oldest == kNoBlock) {
      ++distinct_;
      if (reach_) reach_->appear(name);
      return;
    }
    Copies& head = copies_[static_cast<std::size_t>(oldest)];
    copies_[static_cast<std::size_t>(block)] = {head.prev, oldest};
    copies_[static_cast<std::size_t>(head.prev)].next = block;
    head.prev = block;
  }

  MemoryLayout layout_;
  const core::Workload& workload_;
  core::ContentNames names_;
  bool prefix_cache_;
  std::vector<Block> blocks_;   // by id, those that were ever handed out
  std::vector<Copies> copies_;  // likewise
  BlockQueue queue_;
  core::RequestColumn<std::int32_t> holder_of_;  // by request, -1 = none
  std::vector<Holder> holders_;
  std::vector<std::int32_t> idle_holders_;
  Zeros<BlockId> block_of_name_;  // oldest findable copy by shared name; the null block where there is none
  std::int64_t free_;
  std::int64_t cached_{0};
  std::int64_t distinct_{0};
  std::int64_t duplicates_{0};
  std::int64_t sharers_{0};
  std::optional<PrefixReach> reach_;  // once a request has dropped something
  std::vector<BlockId> found_;        // of the latest lookup
  std::uint64_t missing_name_{kNoName};
  std::uint32_t lookup_stamp_{0};
  std::uint64_t epoch_{0};
};

constexpr std::array<Param, 1> kParams{{
    {.name = "block_tokens",
     .help = "Tokens of one block; a block spans all layers and heads",
     .kind = ParamKind::kInteger,
     .unit = Unit::kTokens,
     .fallback = "16",
     .low = 1,
     .high = 65536,
     .choices = {}},
}};

}  // namespace

Result<core::MemoryLayout> paged_layout(std::int64_t block_tokens, const AllocatorRequest& request) {
  const traces::PrefixHashes* const prefix = request.workload->prefix;
  if (request.prefix_cache && prefix != nullptr && prefix->present() &&
      prefix->block_tokens % block_tokens != 0)
    return bad_input("expected a divisor of the trace's hash block of " +
                     std::to_string(prefix->block_tokens) + " tokens, found " + std::to_string(block_tokens) +
                     " (with engine.prefix_cache=false any will do)")
        .at_field("memory.allocator: block_tokens");
  MemoryLayout layout;
  layout.null_block = true;
  layout.quantum_tokens = block_tokens;
  layout.token_bytes = request.token_bytes;
  layout.cells_per_token = request.cells_per_token;
  layout.metadata_bytes = request.metadata_bytes;
  Wide capacity = 0;
  std::int64_t blocks = 0;
  if (request.pool.blocks >= 0) {
    blocks = request.pool.blocks;
    capacity = Wide{blocks} * layout.quantum_bytes();
  } else if (request.pool.tokens >= 0) {
    blocks = request.pool.tokens / block_tokens;
    capacity = Wide{request.pool.tokens} * request.token_bytes;
  } else {
    blocks = request.pool.bytes / layout.quantum_bytes();
    capacity = request.pool.bytes;
  }
  if (capacity > (Wide{1} << 62) || blocks > kMostBlocks)
    return bad_input("expected a pool of at most 2^25 blocks and 2^62 bytes, found " +
                     std::to_string(blocks) + " blocks")
        .at_field("memory");
  if (blocks < 2)
    return bad_input("expected room for at least 2 blocks of " + std::to_string(block_tokens) +
                     " tokens (one is the null block), found " + std::to_string(blocks))
        .at_field("memory");
  layout.quanta = blocks - 1;
  layout.capacity_bytes = static_cast<std::int64_t>(capacity);
  return layout;
}

Result<std::unique_ptr<core::Allocator>> make_paged(const Choice& choice, const AllocatorRequest& request) {
  KVPLAN_TRY(const MemoryLayout layout, paged_layout(choice.integer("block_tokens"), request));
  const traces::PrefixHashes* const hashes = request.workload->prefix;
  const bool shares = request.prefix_cache && hashes != nullptr && hashes->present();
  if (!request.block_ids && !shares) return make_paged_runs(layout, request);
  return std::unique_ptr<core::Allocator>(std::make_unique<PagedAllocator>(layout, request));
}

extern const AllocatorEntry kPagedAllocator;
const AllocatorEntry kPagedAllocator{
    .descriptor = {.family = "allocator",
                   .name = "paged",
                   .summary = "Blocks of a fixed number of tokens from one queue, with hash-chained prefix "
                              "caching as in vLLM V1.",
                   .source = "vllm-project/vllm v0.15.1 (1892993): vllm/v1/core/block_pool.py",
                   .params = kParams,
                   .spans = "One block id spans `block_tokens` tokens in all layers and stored heads: a "
                            "block comes back when nobody "
                            "keeps any of its cells."},
    .make = make_paged,
    .make_model = make_paged_model,
    .shares_prefixes = true};

}  // namespace kvplan::memory
