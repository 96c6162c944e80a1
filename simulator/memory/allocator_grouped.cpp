// One pool for full-attention and sliding-window layers (vllm-project/vllm v0.15.1: kv_cache_utils.py,
// single_type_kv_cache_manager.py, kv_cache_coordinator.py; the idea as in Jenga, arXiv 2503.18292). Layers are put
// into groups of equal size (model/layer_groups.h), so all blocks have one size; a request has a block of each group
// for every `block_tokens` tokens. Before a request is granted blocks for its next tokens, each group with a window W
// frees the blocks in which all tokens are at or before position computed - W.
//
// Blocks come from the front of one queue and go to its back. A grant takes the blocks of one group after the other;
// the end of a request frees the blocks of one group after the other, each from its tail.
//
// Layers with states: a request holds the blocks of their groups beside its table, from its admission to its release.
// These blocks are granted first and freed first.
//
// This file is the pool without a prefix cache; allocator_grouped_prefixes.cpp has the pool with one. Only block ids
// depend on which block is which, so blocks are merely counted if no observer needs ids.
#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/latency.h"
#include "simulator/memory/grouped_pool.h"
#include "simulator/memory/paged_pool.h"
#include "simulator/memory/state_pages.h"

namespace kvplan::memory {
namespace {

using core::MemoryLayout;

constexpr std::int64_t kMostGroupedBlocks = std::int64_t{1}
                                            << 25;  // some bytes of our own memory each, once used

class GroupedAllocator final : public core::Allocator, public core::BlockReturns {
 public:
  GroupedAllocator(const GroupedParts& parts, const AllocatorRequest& request)
      : parts_(parts),
        layout_(parts_.layout),
        groups_(static_cast<std::int64_t>(layout_.groups.size())),
        workload_(*request.workload),
        holder_of_(request.places()) {
    if (!request.block_ids) layout_.ids = core::AllocUnitIds::kNone;
  }

  const MemoryLayout& layout() const override { return layout_; }
  core::PoolCounts counts() const override {
    return {.free = layout_.alloc_units - held_, .cached = 0, .held = held_, .distinct_names = 0};
  }
  core::BlockReturns* block_returns() override { return this; }
  std::int64_t growth_tokens() const override { return -1; }
  std::int64_t next_growth(RequestId r) const override {
    return existing(r).blocks * layout_.alloc_unit_tokens;
  }
  bool fits_empty(RequestId r) const override {
    return parts_.most_blocks(workload_.final_tokens(r)) <= layout_.alloc_units;
  }

  bool admit(RequestId r, const core::PrefixHit& /*found*/, std::int64_t tokens,
             std::int64_t /*goal*/) override {
    const std::int64_t blocks = ceil_div(tokens, layout_.alloc_unit_tokens);
    if (blocks * groups_ + layout_.states.blocks > layout_.alloc_units - held_) return false;
    std::int32_t& slot = holder_of_[r];
    KVPLAN_CHECK(slot < 0, r);
    if (idle_holders_.empty()) {
      idle_holders_.push_back(static_cast<std::int32_t>(holders_.size()));
      holders_.emplace_back();
    }
    slot = idle_holders_.back();
    idle_holders_.pop_back();
    Holder& holder = holders_[static_cast<std::size_t>(slot)];
    take_states(holder);
    take(holder, blocks);
    return true;
  }

  bool grow(RequestId r, std::int64_t tokens) override {
    Holder& holder = existing(r);
    const std::int64_t blocks = std::max(ceil_div(tokens, layout_.alloc_unit_tokens), holder.blocks);
    if ((blocks - holder.blocks) * groups_ > layout_.alloc_units - held_) return false;
    take(holder, blocks - holder.blocks);
    return true;
  }

  void free_entries(RequestId r, std::span<const std::int32_t> entries) override {
    Holder& holder = existing(r);
    const auto count = static_cast<std::int64_t>(entries.size());
    holder.held -= count;
    held_ -= count;
    if (!layout_.block_ids()) return;
    for (const std::int32_t entry : entries)
      queue_.push_back(std::exchange(holder.table[static_cast<std::size_t>(entry)], kNoBlock));
  }
  /// No request follows a course in this pool.
  void cut_table(RequestId r, std::int64_t /*allocation units*/) override { KVPLAN_CHECK(false, r); }

  void release(RequestId r, std::int64_t /*written*/) override {
    Holder& holder = existing(r);
    held_ -= holder.held;
    if (layout_.block_ids()) {
      queue_.insert(queue_.end(), holder.states.begin(), holder.states.end());
      for (std::int64_t g = 0; g < groups_; ++g) {
        for (std::int64_t b = holder.blocks - 1; b >= 0; --b) {
          const BlockId block = holder.table[static_cast<std::size_t>(b * groups_ + g)];
          if (block != kNoBlock) queue_.push_back(block);
        }
      }
    }
    holder.table.clear();
    holder.states.clear();
    holder.blocks = holder.held = 0;
    std::int32_t& slot = holder_of_[r];
    idle_holders_.push_back(slot);
    slot = -1;
  }

  core::BlockTable table(RequestId r) const override {
    const std::int32_t slot = holder_of_[r];
    if (slot < 0) return {};
    const Holder& holder = holders_[static_cast<std::size_t>(slot)];
    return {holder.table, holder.blocks * groups_};
  }

 private:
  struct Holder {
    std::vector<BlockId> table;
    std::vector<BlockId> states;
    std::int64_t blocks{0};  ///< logical blocks, including those that were freed
    std::int64_t held{0};    ///< blocks of all groups, and of states
  };

  Holder& existing(RequestId r) {
    const std::int32_t slot = holder_of_[r];
    KVPLAN_CHECK(slot >= 0, r);
    return holders_[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] const Holder& existing(RequestId r) const {
    return const_cast<GroupedAllocator*>(this)->existing(r);
  }

  /// REQUIRES: they are free.
  void take_states(Holder& holder) {
    holder.held += layout_.states.blocks;
    held_ += layout_.states.blocks;
    if (!layout_.block_ids()) return;
    for (std::int64_t i = 0; i < layout_.states.blocks; ++i) holder.states.push_back(take_block());
  }

  /// Logical blocks for every group. REQUIRES: they are free.
  void take(Holder& holder, std::int64_t blocks) {
    const std::int64_t first = holder.blocks;
    holder.blocks += blocks;
    holder.held += blocks * groups_;
    held_ += blocks * groups_;
    if (!layout_.block_ids()) return;
    holder.table.resize(static_cast<std::size_t>(holder.blocks * groups_));
    for (std::int64_t g = 0; g < groups_; ++g)
      for (std::int64_t b = first; b < holder.blocks; ++b)
        holder.table[static_cast<std::size_t>(b * groups_ + g)] = take_block();
  }

  /// At first all blocks are in the queue, ordered by id, before any block that was freed.
  BlockId take_block() {
    if (next_new_ <= layout_.alloc_units) return id_at<BlockId>(next_new_++);
    const BlockId block = queue_.front();
    queue_.pop_front();
    return block;
  }

  GroupedParts parts_;
  MemoryLayout layout_;
  std::int64_t groups_;
  const core::Workload& workload_;
  core::RequestColumn<std::int32_t> holder_of_;  // by request; -1: none
  std::vector<Holder> holders_;
  std::vector<std::int32_t> idle_holders_;
  std::deque<BlockId> queue_;  // freed blocks
  std::int64_t next_new_{1};   // this id and higher ones were never held; block 0 is the null block
  std::int64_t held_{0};
};

constexpr std::array<Param, 1> kGroupedParams{{
    {.name = "block_tokens",
     .help = "Tokens per block; a block covers the layers of one group and all their KV heads",
     .kind = ParamKind::kInteger,
     .unit = Unit::kTokens,
     .fallback = "16",
     .low = 1,
     .high = 65536},
}};

Result<std::unique_ptr<core::Allocator>> make_grouped(const Choice& choice, const AllocatorRequest& request) {
  KVPLAN_TRY(const GroupedParts parts, grouped_parts(choice, request));
  if (request.prefix_cache) return make_grouped_prefixes(parts, request);
  return std::unique_ptr<core::Allocator>(std::make_unique<GroupedAllocator>(parts, request));
}

/// Bytes that each layer stores of a token on this rank, and the part of them that is not keys and values.
struct LayerBytes {
  std::int64_t token{0}, metadata{0};
};

Error no_attention() {
  return bad_input(
             "the allocator \"grouped\" needs layers with keys and values on each stage, found a stage "
             "that has states alone")
      .at_field("model");
}

/// Layers of the stage that store something of each token.
std::int64_t token_layers(const AllocatorRequest& request) {
  const model::ModelShape& shape = *request.model;
  const std::int64_t end = request.layers < 0 ? shape.layers : request.first_layer + request.layers;
  if (shape.state_layers() == 0) return end - request.first_layer;
  std::int64_t layers = 0, at = 0;
  for (const model::LayerRun& run : shape.runs) {
    const std::int64_t here = std::min(at + run.layers, end) - std::max(at, request.first_layer);
    if (run.cache.kind != model::CacheKind::kNone) layers += std::max<std::int64_t>(here, 0);
    at += run.layers;
  }
  return layers;
}

Result<LayerBytes> layer_bytes(const AllocatorRequest& request) {
  const model::ModelShape& shape = *request.model;
  const bool states = shape.state_layers() > 0;
  const auto stores_tokens = [&](const model::LayerRun& run) {
    return !states || run.cache.kind != model::CacheKind::kNone;
  };
  const auto some = std::find_if(shape.runs.begin(), shape.runs.end(), stores_tokens);
  if (some == shape.runs.end()) return no_attention();
  const model::LayerCache& first = some->cache;
  for (const model::LayerRun& run : shape.runs) {
    if (!stores_tokens(run)) continue;
    if (run.cache.chunked)
      return bad_input(
                 "the allocator \"grouped\" needs layers with sliding windows or with full attention, "
                 "found attention in chunks")
          .at_field("memory.allocator");
    if (run.cache.kind == first.kind && run.cache.elements() == first.elements() &&
        run.cache.heads == first.heads)
      continue;
    return bad_input("the allocator \"grouped\" needs layers with equal bytes per token, found layers of " +
                     std::to_string(first.elements()) + " and of " + std::to_string(run.cache.elements()) +
                     " elements in " + std::to_string(first.heads) + " and " +
                     std::to_string(run.cache.heads) + " heads")
        .at_field("memory.allocator");
  }
  if (request.format != nullptr && !request.format->by_layer.empty())
    return bad_input("the allocator \"grouped\" needs layers with equal bytes per token, found " +
                     std::string(request.format->choice.name()) + " with different bytes in each layer")
        .at_field("memory.allocator");
  if (request.cells_per_token != 1)
    return bad_input("the allocator \"grouped\" frees blocks only by sliding windows: expected eviction=none")
        .at_field("eviction");
  const std::int64_t layers = token_layers(request);
  if (layers == 0) return no_attention();
  KVPLAN_CHECK(request.token_bytes % layers == 0 && request.metadata_bytes % layers == 0, request.token_bytes,
               request.metadata_bytes);
  return LayerBytes{request.token_bytes / layers, request.metadata_bytes / layers};
}

}  // namespace

std::int64_t GroupedParts::most_blocks(std::int64_t tokens) const {
  const std::int64_t q = layout.alloc_unit_tokens;
  std::int64_t blocks = 0;
  for (const model::LayerGroup& group : layout.groups) {
    const std::int64_t all = ceil_div(tokens, q);
    const std::int64_t spanned = ceil_div(group.window - 1 + step_tokens, q) + 1;
    blocks += group.window == 0 ? all : std::min(all, spanned);
  }
  return blocks + layout.states.blocks;
}

std::int64_t GroupedParts::asked_blocks(std::int64_t tokens) const {
  const std::int64_t q = layout.alloc_unit_tokens;
  std::int64_t blocks = 0;
  for (const model::LayerGroup& group : layout.groups)
    blocks += group.window == 0 ? ceil_div(tokens, q)
                                : ceil_div(std::min(group.window - 1 + step_tokens, tokens), q) + 1;
  return blocks + layout.states.blocks;
}

Result<GroupedParts> grouped_parts(const Choice& choice, const AllocatorRequest& request) {
  GroupedParts parts;
  parts.step_tokens = request.step_tokens;
  MemoryLayout& layout = parts.layout;
  layout.null_block = true;
  layout.alloc_unit_tokens = parts.asked_tokens = choice.integer("block_tokens");
  layout.groups = {{request.cells_per_token, 0}};
  layout.token_bytes = request.token_bytes;
  layout.cells_per_token = request.cells_per_token;
  layout.metadata_bytes = request.metadata_bytes;
  if (request.model != nullptr) {
    KVPLAN_TRY(const LayerBytes bytes, layer_bytes(request));
    model::LayerGroups groups = model::layer_groups(*request.model, request.first_layer, request.layers);
    layout.groups = std::move(groups.groups);
    layout.cells_per_token = groups.size;
    layout.token_bytes = groups.size * bytes.token;
    layout.metadata_bytes = bytes.metadata;
    if (groups.states.blocks > 0) {
      layout.states = groups.states;
      KVPLAN_TRY(const StatePage page, state_page(request, bytes.token, bytes.metadata));
      layout.states.slots = page.slots;
      layout.alloc_unit_tokens = std::max(layout.alloc_unit_tokens, page.block_tokens);
    }
  }
  KVPLAN_TRY_DO(check_hash_block(layout.alloc_unit_tokens, request));
  if (const auto windows = model::windows_of(layout.groups).size() + (layout.states.blocks > 0 ? 1 : 0);
      windows > core::kMostWindows)
    return bad_input("the allocator \"grouped\" supports layers with at most " +
                     std::to_string(core::kMostWindows) + " different window sizes, found " +
                     std::to_string(windows))
        .at_field("memory.allocator");
  Wide capacity = 0;
  if (request.pool.blocks >= 0) {
    capacity = Wide{request.pool.blocks} * layout.alloc_unit_bytes();
  } else if (request.pool.tokens >= 0) {
    capacity = Wide{request.pool.tokens} * request.token_bytes;
    if (layout.states.blocks > 0)  // tokens as vLLM counts them, with a block of each group for them
      capacity = Wide{ceil_div(request.pool.tokens, layout.alloc_unit_tokens)} *
                 (std::ssize(layout.groups) + layout.states.blocks) * layout.alloc_unit_bytes();
  } else {
    capacity = request.pool.bytes;
  }
  const Wide blocks = capacity / layout.alloc_unit_bytes();
  const std::string found =
      "found " + std::to_string(static_cast<std::int64_t>(std::min<Wide>(blocks, INT64_MAX)));
  if (capacity > (Wide{1} << 62) || blocks > kMostGroupedBlocks)
    return bad_input("expected a pool of at most 2^25 blocks and 2^62 bytes, " + found + " blocks")
        .at_field("memory");
  if (blocks < 2)
    return bad_input("expected room for at least 2 blocks of " + std::to_string(layout.alloc_unit_tokens) +
                     " tokens in " + std::to_string(layout.cells_per_token) +
                     " layers (one is the null block), " + found)
        .at_field("memory");
  layout.alloc_units = static_cast<std::int64_t>(blocks) - 1;
  layout.capacity_bytes = static_cast<std::int64_t>(capacity);
  return parts;
}

namespace allocator_grouped {
extern const AllocatorEntry kMember;
}  // namespace allocator_grouped
const AllocatorEntry allocator_grouped::kMember{
    .descriptor =
        {.family = "allocator",
         .name = "grouped",
         .summary =
             "Blocks of one pool are shared by groups of layers, as in vLLM V1. A group with a sliding "
             "window frees blocks behind the window. A prefix hit needs blocks in every group.",
         .source = "vllm-project/vllm v0.15.1 (1892993): vllm/v1/core/kv_cache_utils.py, "
                   "single_type_kv_cache_manager.py, kv_cache_coordinator.py",
         .params = kGroupedParams,
         .spans = "One block id covers `block_tokens` tokens in the layers of one group and all KV heads. A "
                  "block of a sliding-window group is freed when all its tokens are behind the window."},
    .make = make_grouped,
    .make_model = make_grouped_model,
    .shares_prefixes = true,
    .follows_windows = true};

}  // namespace kvplan::memory
