// Paged memory with hash-chained prefix caching, as vLLM V1 does it (vllm-project/vllm v0.15.1,
// vllm/v1/core/block_pool.py, kv_cache_utils.py, single_type_kv_cache_manager.py):
// - one queue of blocks that nobody holds; fresh blocks come from its front, freed ones go to its back,
//   tail first;
// - a full block gets the name of its content when it is allocated for; a block in the queue keeps its name
//   and can be hit until it is handed out again; copies of one content stay side by side, the oldest is found
//   first;
// - block 0 is the null block.
// With a replacement policy (memory.replacement) other blocks are handed out: idle_blocks.h says which.
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
#include "simulator/memory/idle_blocks.h"
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

/// `Idle` has the blocks that nobody holds, and says which of them is handed out: one of the classes of idle_blocks.h.
template <class Idle>
class PagedAllocator final : public core::Allocator, public core::Contents, public core::BlockReturns {
 public:
  /// `idle`: what Idle is made from.
  template <class... MadeFrom>
  PagedAllocator(const MemoryLayout& layout, const AllocatorRequest& request, MadeFrom&&... idle)
      : layout_(layout),
        workload_(*request.workload),
        names_(workload_, layout.quantum_tokens),
        prefix_cache_(request.prefix_cache),
        blocks_(1),  // the null block
        copies_{{0, 0}},
        idle_(std::forward<MadeFrom>(idle)...),
        holder_of_(request.places()),
        block_of_name_(prefix_cache_ ? static_cast<std::size_t>(names_.shared_count()) : 0),
        free_{layout.quanta} {
    if constexpr (Idle::kByContent) follow_prefixes();  // any content may go before those that follow it
  }

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
  core::Contents* contents() override { return this; }
  core::BlockReturns* block_returns() override { return this; }
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
    if constexpr (Idle::kByContent) expire(r, num_tokens);
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

  bool admit(RequestId r, const Found& found, std::int64_t tokens, std::int64_t /*goal*/) override {
    const auto hits = static_cast<std::int64_t>(found_.size());
    const std::int64_t fresh = ceil_div(tokens, layout_.quantum_tokens) - hits;
    if (fresh + found.idle > free_ + cached_) return false;
    Holder& holder = holder_for(r);
    KVPLAN_CHECK(holder.blocks.empty(), r);
    holder.blocks.reserve(static_cast<std::size_t>(hits + fresh));
    for (const BlockId b : found_) {
      Block& block = at(b);
      if (block.refs++ == 0) {
        idle_.remove(b, block.place);
        leave_cache(block);
      } else {
        ++sharers_;
      }
      if constexpr (Idle::kByContent) idle_.hit(b, r, static_cast<std::int64_t>(holder.blocks.size()));
      holder.blocks.push_back(b);
    }
    holder.published = hits;
    holder.closed = false;
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
    // then, so it must be so before anything is handed out. Where somebody listens, `publish` came in time: a policy's
    // clock always does.
    const std::int64_t room = static_cast<std::int64_t>(holder.blocks.size()) * layout_.quantum_tokens;
    if (!Idle::kByContent && listener_ == nullptr && tokens == room + 1) make_findable(holder, r, room);
    take(holder, fresh);
    return true;
  }

  void publish(RequestId r, std::int64_t tokens) override { make_findable(existing(r), r, tokens); }

  void close(RequestId r, std::int64_t written) override {
    Holder& holder = existing(r);
    make_findable(holder, r, written);  // filled before
    holder.closed = true;
    follow_prefixes();
  }

  void let_go(RequestId r, std::span<const std::int32_t> entries) override {
    Holder& holder = existing(r);
    KVPLAN_CHECK(!prefix_cache_ || holder.closed, r);
    for (const std::int32_t logical : entries) {
      BlockId& block = holder.blocks[static_cast<std::size_t>(logical)];
      remember(holder, r, logical, block);
      let_go(std::exchange(block, kNoBlock), r, logical);
    }
  }

  void cut_table(RequestId r, std::int64_t quanta) override {
    KVPLAN_CHECK(!prefix_cache_, r);
    auto& blocks = existing(r).blocks;
    for (; static_cast<std::int64_t>(blocks.size()) > quanta; blocks.pop_back())
      let_go(blocks.back(), r, static_cast<std::int64_t>(blocks.size()) - 1);
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
      let_go(block, r, b);
    }
    holder.blocks.clear();
  }

  void forget(RequestId r) override {
    if constexpr (Idle::kByContent) idle_.forget(r);
    std::int32_t& slot = holder_of_[r];
    if (slot < 0) return;
    Holder& holder = holders_[static_cast<std::size_t>(slot)];
    KVPLAN_CHECK(holder.blocks.empty(), r);
    holder.heads.clear();
    idle_holders_.push_back(slot);
    slot = -1;
  }

  core::BlockTable table(RequestId r) const override {
    const Holder* holder = holder_or_null(r);
    if (holder == nullptr) return {};
    return {holder->blocks, static_cast<std::int64_t>(holder->blocks.size())};
  }
  core::Observer* clock() override {
    if constexpr (Idle::kByContent) return idle_.clock();
    return nullptr;
  }

 private:
  struct Block {
    std::uint64_t name{kNoName};
    std::uint32_t place{0};  // among the idle ones, while nobody holds it
    std::int32_t refs{0};
    std::uint32_t stamp{0};  // lookup that found it last
    bool oldest{false};      // of the copies of its content: the one that lookups find
  };
  /// Ring of the copies of one content, oldest first from where lookups begin. Most blocks are alone in
  /// theirs.
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
  struct Holder {
    std::vector<BlockId> blocks;  // by logical block; kNoBlock where let go
    std::vector<BlockId> heads;   // by logical block: oldest findable copy of own content; check its name
    std::int64_t published{0};    // leading blocks that have been made findable
    bool closed{false};           // has dropped a cell since its admission
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

  /// Hands out idle blocks. REQUIRES: there are so many.
  void take(Holder& holder, std::int64_t count) {
    if (Idle::kByContent && count > 0) ++epoch_;
    for (; count > 0; --count) {
      if (static_cast<std::int64_t>(blocks_.size()) <= layout_.quanta) {
        holder.blocks.push_back(take_new());
        continue;
      }
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

  void let_go(BlockId b, [[maybe_unused]] RequestId r, [[maybe_unused]] std::int64_t logical) {
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

  [[nodiscard]] bool is_only_copy(BlockId b) const { return copies_[static_cast<std::size_t>(b)].next == b; }

  /// What a policy gives up by time alone. A request that waits at the head is not asked again for that: as long as
  /// nothing else changes, it finds what it found. So nothing depends on how often it is looked up.
  void expire(RequestId r, std::int64_t num_tokens) {
    if (asked_ == Asked{r, num_tokens, epoch_}) return;
    idle_.expire([&](BlockId b) {
      for (bool last = false; !last;) {  // all copies, the oldest first
        const BlockId next = copies_[static_cast<std::size_t>(b)].next;
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
    if constexpr (Idle::kByContent) idle_.lose_copy(b, last_copy ? kNoBlock : next);
    if (last_copy) return;
    copies_[static_cast<std::size_t>(ring.prev)].next = next;
    copies_[static_cast<std::size_t>(next)].prev = ring.prev;
    ring = {b, b};
    if constexpr (Idle::kByContent)
      if (is_only_copy(next) && at(next).refs == 0) idle_.leave_spares(next);
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
    if (!prefix_cache_ || holder.closed) return;
    const std::int64_t full = tokens / layout_.quantum_tokens;
    if (holder.published >= full) return;
    const std::int64_t shared = std::min(names_.shared_blocks(r), full);
    const std::int64_t row = names_.row_length();
    std::int64_t b = holder.published;
    while (b < shared) {
      const std::int64_t end = std::min((b / row + 1) * row, shared);
      std::int64_t name = names_.first_name(r, b / row) + b % row;
      for (; b < end; ++b, ++name) publish_shared(holder, r, b, name);
    }
    for (; b < full; ++b) publish_own(holder, r, b);
    holder.published = full;
  }

  void publish_shared(const Holder& holder, RequestId r, std::int64_t logical, std::int64_t name) {
    const BlockId block = holder.blocks[static_cast<std::size_t>(logical)];
    BlockId& head = block_of_name_[static_cast<std::size_t>(name)];
    if (static_cast<std::uint64_t>(name) == missing_name_) ++epoch_;
    add_copy(block, static_cast<std::uint64_t>(name), head == kNullBlock ? kNoBlock : head);
    if (head == kNullBlock) head = block;
    if constexpr (Idle::kByContent) idle_.publish_shared(block, name, before(holder, logical), r, logical);
    if (listener_ != nullptr) listener_->on_publish(r, logical, block);
  }

  void publish_own(const Holder& holder, RequestId r, std::int64_t logical) {
    const BlockId block = holder.blocks[static_cast<std::size_t>(logical)];
    add_copy(block, own_name(r, logical), own_copy(holder, r, logical));
    if constexpr (Idle::kByContent) idle_.publish_own(block, before(holder, logical), r, logical);
    if (listener_ != nullptr) listener_->on_publish(r, logical, block);
  }

  [[nodiscard]] static BlockId before(const Holder& holder, std::int64_t logical) {
    return logical == 0 ? kNoBlock : holder.blocks[static_cast<std::size_t>(logical) - 1];
  }

  /// Joins the ring of `oldest` behind its youngest copy, or stays alone.
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
  Idle idle_;
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
  Asked asked_;
};

constexpr std::array<std::string_view, 3> kTables{"all", "layer", "head"};
constexpr std::array<Param, 2> kParams{{
    {.name = "block_tokens",
     .help = "Tokens of one block; a block spans all layers and heads",
     .kind = ParamKind::kInteger,
     .unit = Unit::kTokens,
     .fallback = "16",
     .low = 1,
     .high = 65536,
     .choices = {}},
    {.name = "table",
     .help =
         "A request has one table for all layers, as in vLLM, or one for each layer or each stored head, so "
         "that "
         "blocks come back where a token policy keeps less; each block then has 4 bytes more for its entry",
     .kind = ParamKind::kText,
     .fallback = "all",
     .choices = kTables,
     .default_unsaid = true},
}};

constexpr std::int64_t kEntryBytes = 4;  // a block's number, as in vLLM's block tables

TablePer table_per(const Choice& choice) {
  const std::string& per = choice.text("table");
  if (per == "layer") return TablePer::kLayer;
  return per == "head" ? TablePer::kHead : TablePer::kRequest;
}

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
  if (request.tables > 1 && capacity <= (Wide{1} << 62)) {  // as many bytes, in blocks of one table
    layout.tables = request.tables;
    layout.entry_bytes = kEntryBytes;
    blocks = static_cast<std::int64_t>(capacity) / layout.quantum_bytes();
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
  if (layout.tables > 1 || request.quanta_beyond > 0) return make_paged_tables(layout, request);
  const traces::PrefixHashes* const hashes = request.workload->prefix;
  const bool shares = request.prefix_cache && hashes != nullptr && hashes->present();
  if (replaces_by_policy(request)) {
    KVPLAN_TRY(auto policy, make_pool_policy(layout, request));
    const std::int64_t shared_names =
        core::ContentNames(*request.workload, layout.quantum_tokens).shared_count();
    return std::unique_ptr<core::Allocator>(
        std::make_unique<PagedAllocator<BlocksByPolicy>>(layout, request, std::move(policy), shared_names));
  }
  if (!request.block_ids && !shares) return make_paged_runs(layout, request);
  return std::unique_ptr<core::Allocator>(std::make_unique<PagedAllocator<BlocksInQueue>>(layout, request));
}

extern const AllocatorEntry kPagedAllocator;
const AllocatorEntry kPagedAllocator{
    .descriptor = {.family = "allocator",
                   .name = "paged",
                   .summary = "Blocks of a fixed number of tokens from one queue, with hash-chained prefix "
                              "caching as in vLLM V1.",
                   .source = "vllm-project/vllm v0.15.1 (1892993): vllm/v1/core/block_pool.py",
                   .params = kParams,
                   .spans = "One block id spans `block_tokens` tokens in all layers and stored heads (with "
                            "`table=layer` or `head`, of one of them): a block comes back when nobody keeps "
                            "any of its cells."},
    .make = make_paged,
    .make_model = make_paged_model,
    .shares_prefixes = true,
    .table_per = table_per};

}  // namespace kvplan::memory
