// Paged memory with hash-chained prefix caching, as in vLLM V1 (vllm-project/vllm v0.15.1,
// vllm/v1/core/block_pool.py, kv_cache_utils.py, single_type_kv_cache_manager.py):
// - blocks that no request holds are in one queue; new blocks come from its front, freed blocks go to its back, the
//   tail of the table first;
// - a full block gets the name of its content when it is allocated for; a block in the queue keeps its name and can be
//   hit until it is handed out again; copies of one content coexist, and lookups find the oldest;
// - block 0 is the null block.
// With a replacement policy (memory.replacement) other blocks are handed out: see idle_blocks.h.
//
// named_blocks.h keeps the holders of blocks and the contents that can be found. If all contents are unique to their
// requests and no observer needs ids, allocator_paged_runs.cpp is used instead.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/named_blocks.h"
#include "simulator/memory/paged_pool.h"

namespace kvplan::memory {
namespace {

using core::MemoryLayout;
using core::PoolCounts;
using core::PrefixHit;

constexpr std::int64_t kMostPagedBlocks = std::int64_t{1}
                                          << 25;  // some 50 bytes of our own memory each, once used

/// `Idle` chooses the block that is handed out: one of the classes of idle_blocks.h.
template <class Idle>
class PagedAllocator final : public core::Allocator, public core::Contents, public core::BlockReturns {
 public:
  /// `idle`: constructor arguments of Idle.
  template <class... MadeFrom>
  PagedAllocator(const MemoryLayout& layout, const AllocatorRequest& request, MadeFrom&&... idle)
      : layout_(layout),
        workload_(*request.workload),
        names_(workload_, layout.alloc_unit_tokens),
        pool_(layout.alloc_units, request.prefix_cache, names_.shared_count(), request.places(), listener_,
              std::forward<MadeFrom>(idle)...) {
    if constexpr (Idle::kByContent) follow_prefixes();  // any content may be evicted before its followers
  }

  const MemoryLayout& layout() const override { return layout_; }
  PoolCounts counts() const override { return pool_.counts(); }
  core::Contents* contents() override { return this; }
  core::BlockReturns* block_returns() override { return this; }
  std::int64_t growth_tokens() const override { return layout_.alloc_unit_tokens; }
  bool fits_empty(RequestId r) const override { return whole_table(r) <= layout_.alloc_units; }
  std::uint64_t lookup_epoch() const override { return pool_.epoch(); }

  PrefixHit lookup(RequestId r, std::int64_t num_tokens) override {
    found_.clear();
    pool_.begin_lookup();
    PrefixHit found;
    if (!pool_.prefix_cache()) return found;
    if constexpr (Idle::kByContent) pool_.expire(r, num_tokens);
    const std::int64_t most = (num_tokens - 1) / layout_.alloc_unit_tokens;
    const std::int64_t shared = std::min(names_.shared_blocks(r), most);
    const std::int64_t row = names_.row_length();
    const auto hit = [&](BlockId block) {
      found_.push_back(block);
      if (pool_.find(block)) ++found.idle;
    };
    bool missed = false;
    for (std::int64_t b = 0; b < shared && !missed;) {
      const std::int64_t first = names_.first_name(r, b / row);
      const std::int64_t in_row = std::min(row, shared - b);
      for (std::int64_t i = 0; i < in_row; ++i, ++b) {
        const BlockId block = pool_.shared_copy(first + i);
        if (block == Pool::kNullBlock) {
          pool_.miss(first + i);
          missed = true;
          break;
        }
        hit(block);
      }
    }
    const Holder* holder = missed ? nullptr : pool_.holders().find(r);
    for (std::int64_t b = shared; holder != nullptr && b < most; ++b) {
      const BlockId block = pool_.own_copy(*holder, r, b);
      if (block == kNoBlock) break;
      hit(block);
    }
    found.tokens = static_cast<std::int64_t>(found_.size()) * layout_.alloc_unit_tokens;
    return found;
  }

  std::int64_t cached_tokens(RequestId r, std::int64_t num_tokens) const override {
    if (!pool_.prefix_cache()) return 0;
    const std::int64_t most = (num_tokens - 1) / layout_.alloc_unit_tokens;
    const std::int64_t shared = std::min(names_.shared_blocks(r), most);
    std::int64_t b = 0;
    while (b < shared && pool_.shared_copy(names_.shared_name(r, b)) != Pool::kNullBlock) ++b;
    const Holder* holder = b < shared ? nullptr : pool_.holders().find(r);
    while (holder != nullptr && b < most && pool_.own_copy(*holder, r, b) != kNoBlock) ++b;
    return b * layout_.alloc_unit_tokens;
  }

  bool admit(RequestId r, const PrefixHit& found, std::int64_t tokens, std::int64_t goal) override {
    const auto hits = static_cast<std::int64_t>(found_.size());
    const std::int64_t fresh = ceil_div(tokens, layout_.alloc_unit_tokens) - hits;
    if (fresh + found.idle > pool_.idle()) return false;
    Holder& holder = pool_.holders().make(r);
    KVPLAN_CHECK(holder.blocks.empty(), r);
    holder.blocks.reserve(static_cast<std::size_t>(hits + fresh));
    for (const BlockId b : found_) {
      pool_.hold(b, r, static_cast<std::int64_t>(holder.blocks.size()));
      holder.blocks.push_back(b);
    }
    holder.published = hits;
    holder.goal = static_cast<std::int32_t>(goal);
    holder.closed = false;
    take(holder, fresh);
    pool_.begin_epoch();
    return true;
  }

  bool grow(RequestId r, std::int64_t tokens) override {
    Holder& holder = pool_.holders().existing(r);
    const std::int64_t fresh =
        ceil_div(tokens, layout_.alloc_unit_tokens) - static_cast<std::int64_t>(holder.blocks.size());
    if (fresh > pool_.idle()) return false;
    // A decoding request asks for a block when its table is full. Blocks that filled in earlier steps have been
    // findable since then, so they must be inserted before anything is handed out. With a listener (a policy's clock is
    // one), `insert` was already called in time. For a prompt it always was, and the blocks that this step fills may
    // still be undone.
    const std::int64_t room = static_cast<std::int64_t>(holder.blocks.size()) * layout_.alloc_unit_tokens;
    if (!Idle::kByContent && listener_ == nullptr && tokens == room + 1 && tokens > holder.goal)
      make_findable(holder, r, room);
    take(holder, fresh);
    return true;
  }

  void insert(RequestId r, std::int64_t tokens) override {
    make_findable(pool_.holders().existing(r), r, tokens);
  }

  void close(RequestId r, std::int64_t written) override {
    Holder& holder = pool_.holders().existing(r);
    make_findable(holder, r, written);  // blocks that filled before
    holder.closed = true;
    follow_prefixes();
  }

  void free_entries(RequestId r, std::span<const std::int32_t> entries) override {
    Holder& holder = pool_.holders().existing(r);
    KVPLAN_CHECK(!pool_.prefix_cache() || holder.closed, r);
    for (const std::int32_t logical : entries) {
      BlockId& block = holder.blocks[static_cast<std::size_t>(logical)];
      remember(holder, r, logical, block);
      pool_.free_block(std::exchange(block, kNoBlock), r, logical);
    }
  }

  void cut_table(RequestId r, std::int64_t alloc_units) override {
    KVPLAN_CHECK(!pool_.prefix_cache(), r);
    auto& blocks = pool_.holders().existing(r).blocks;
    for (; static_cast<std::int64_t>(blocks.size()) > alloc_units; blocks.pop_back())
      pool_.free_block(blocks.back(), r, static_cast<std::int64_t>(blocks.size()) - 1);
  }

  void release(RequestId r, std::int64_t written) override {
    Holder& holder = pool_.holders().existing(r);
    make_findable(holder, r, written);
    const bool comes_back = written < workload_.final_tokens(r);
    for (auto b = static_cast<std::int64_t>(holder.blocks.size()) - 1; b >= 0; --b) {
      const BlockId block = holder.blocks[static_cast<std::size_t>(b)];
      if (b >= Pool::kAhead && holder.blocks[static_cast<std::size_t>(b - Pool::kAhead)] != kNoBlock)
        pool_.fetch(holder.blocks[static_cast<std::size_t>(b - Pool::kAhead)]);
      if (block == kNoBlock) continue;
      if (comes_back) remember(holder, r, b, block);
      pool_.free_block(block, r, b);
    }
    holder.blocks.clear();
  }

  void forget(RequestId r) override { pool_.forget(r); }

  core::BlockTable table(RequestId r) const override {
    const Holder* holder = pool_.holders().find(r);
    if (holder == nullptr) return {};
    return {holder->blocks, static_cast<std::int64_t>(holder->blocks.size())};
  }
  core::Observer* clock() override {
    if constexpr (Idle::kByContent) return pool_.idle_blocks().clock();
    return nullptr;
  }

 private:
  using Pool = NamedBlocks<Idle, PrefixReach>;
  using Holder = BlockHolder;

  [[nodiscard]] std::int64_t whole_table(RequestId r) const {
    return ceil_div(workload_.final_tokens(r), layout_.alloc_unit_tokens);
  }

  /// Hands out idle blocks. REQUIRES: there are `count` of them.
  void take(Holder& holder, std::int64_t count) {
    if (Idle::kByContent && count > 0) pool_.begin_epoch();
    for (; count > 0; --count) holder.blocks.push_back(pool_.take());
  }

  void remember(Holder& holder, RequestId r, std::int64_t logical, BlockId block) {
    pool_.remember(holder, r, logical, block, [&] { return whole_table(r); });
  }

  /// Starts counting cached blocks that no lookup reaches; called when a request first drops tokens. Before that there
  /// are none: a request frees its table from the end, so a block is reused before the blocks of its prefix.
  void follow_prefixes() {
    if (pool_.prefix_cache()) pool_.follow_prefixes(workload_, names_);
  }

  /// Makes the blocks that the first `tokens` tokens fill findable, unless a cell was dropped before they
  /// filled.
  void make_findable(Holder& holder, RequestId r, std::int64_t tokens) {
    if (!pool_.prefix_cache() || holder.closed) return;
    const std::int64_t full = tokens / layout_.alloc_unit_tokens;
    if (holder.published >= full) return;
    const std::int64_t shared = std::min(names_.shared_blocks(r), full);
    const std::int64_t row = names_.row_length();
    std::int64_t b = holder.published;
    while (b < shared) {
      const std::int64_t end = std::min((b / row + 1) * row, shared);
      std::int64_t name = names_.first_name(r, b / row) + b % row;
      for (; b < end; ++b, ++name) pool_.insert_shared(r, b, entry(holder, b), name, entry(holder, b - 1));
    }
    for (; b < full; ++b) pool_.insert_own(holder, r, b, entry(holder, b), entry(holder, b - 1));
    holder.published = full;
  }
  /// The block at an entry; kNoBlock before the first.
  [[nodiscard]] static BlockId entry(const Holder& holder, std::int64_t logical) {
    return logical < 0 ? kNoBlock : holder.blocks[static_cast<std::size_t>(logical)];
  }

  MemoryLayout layout_;
  const core::Workload& workload_;
  core::ContentNames names_;
  Pool pool_;
  std::vector<BlockId> found_;  // result of the latest lookup
};

constexpr std::array<std::string_view, 3> kTables{"all", "layer", "head"};
constexpr std::array<Param, 2> kPagedParams{{
    {.name = "block_tokens",
     .help = "Tokens per block; a block covers all layers and KV heads",
     .kind = ParamKind::kInteger,
     .unit = Unit::kTokens,
     .fallback = "16",
     .low = 1,
     .high = 65536,
     .choices = {}},
    {.name = "table",
     .help = "all: one block table per request, as in vLLM. layer or head: one table per layer or per KV "
             "head, which lets blocks be freed where a token policy keeps less. Each block adds 4 bytes for "
             "its table entry",
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

Status check_hash_block(std::int64_t block_tokens, const AllocatorRequest& request) {
  const traces::PrefixHashes* const prefix = request.workload->prefix;
  if (request.prefix_cache && prefix != nullptr && prefix->present() && block_tokens < prefix->block_tokens &&
      prefix->block_tokens % block_tokens != 0)
    return bad_input("expected a divisor of the trace's hash block of " +
                     std::to_string(prefix->block_tokens) + " tokens, or a longer block, found " +
                     std::to_string(block_tokens) + " (engine.prefix_cache=false allows any block size)")
        .at_field("memory.allocator: block_tokens");
  return Done{};
}

Result<core::MemoryLayout> paged_layout(std::int64_t block_tokens, const AllocatorRequest& request) {
  KVPLAN_TRY_DO(check_hash_block(block_tokens, request));
  MemoryLayout layout;
  layout.null_block = true;
  layout.alloc_unit_tokens = block_tokens;
  layout.token_bytes = request.token_bytes;
  layout.cells_per_token = request.cells_per_token;
  layout.metadata_bytes = request.metadata_bytes;
  Wide capacity = 0;
  std::int64_t blocks = 0;
  if (request.pool.blocks >= 0) {
    blocks = request.pool.blocks;
    capacity = Wide{blocks} * layout.alloc_unit_bytes();
  } else if (request.pool.tokens >= 0) {
    blocks = request.pool.tokens / block_tokens;
    capacity = Wide{request.pool.tokens} * request.token_bytes;
  } else {
    blocks = request.pool.bytes / layout.alloc_unit_bytes();
    capacity = request.pool.bytes;
  }
  if (request.tables > 1 && capacity <= (Wide{1} << 62)) {  // the same bytes, in blocks of one table each
    layout.tables = request.tables;
    layout.entry_bytes = kEntryBytes;
    blocks = static_cast<std::int64_t>(capacity) / layout.alloc_unit_bytes();
  }
  if (capacity > (Wide{1} << 62) || blocks > kMostPagedBlocks)
    return bad_input("expected a pool of at most 2^25 blocks and 2^62 bytes, found " +
                     std::to_string(blocks) + " blocks")
        .at_field("memory");
  if (blocks < 2)
    return bad_input("expected room for at least 2 blocks of " + std::to_string(block_tokens) +
                     " tokens (one is the null block), found " + std::to_string(blocks))
        .at_field("memory");
  layout.alloc_units = blocks - 1;
  layout.capacity_bytes = static_cast<std::int64_t>(capacity);
  return layout;
}

Result<std::unique_ptr<core::Allocator>> make_paged(const Choice& choice, const AllocatorRequest& request) {
  KVPLAN_TRY(const MemoryLayout layout, paged_layout(choice.integer("block_tokens"), request));
  if (layout.tables > 1 || request.alloc_units_beyond > 0) return make_paged_tables(layout, request);
  const traces::PrefixHashes* const hashes = request.workload->prefix;
  const bool shares = request.prefix_cache && hashes != nullptr && hashes->present();
  if (replaces_by_policy(request)) {
    KVPLAN_TRY(auto policy, make_pool_policy(layout, request));
    const std::int64_t shared_names =
        core::ContentNames(*request.workload, layout.alloc_unit_tokens).shared_count();
    return std::unique_ptr<core::Allocator>(
        std::make_unique<PagedAllocator<BlocksByPolicy>>(layout, request, std::move(policy), shared_names));
  }
  if (!request.block_ids && !shares) return make_paged_runs(layout, request);
  return std::unique_ptr<core::Allocator>(std::make_unique<PagedAllocator<BlocksInQueue>>(layout, request));
}

namespace allocator_paged {
extern const AllocatorEntry kMember;
}  // namespace allocator_paged
const AllocatorEntry allocator_paged::kMember{
    .descriptor =
        {.family = "allocator",
         .name = "paged",
         .summary = "Fixed-size blocks from a free queue, with prefix caching by chained block hashes, as in "
                    "vLLM V1.",
         .source = "vllm-project/vllm v0.15.1 (1892993): vllm/v1/core/block_pool.py",
         .params = kPagedParams,
         .spans = "One block id covers `block_tokens` tokens in all layers and KV heads (with `table=layer` "
                  "or `head`, in one of them). A block is freed when no request keeps any of its tokens."},
    .make = make_paged,
    .make_model = make_paged_model,
    .shares_prefixes = true,
    .table_per = table_per,
    .frees_single_blocks = true};

}  // namespace kvplan::memory
