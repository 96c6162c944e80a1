// The pool of allocator_grouped.cpp with a prefix cache, as in vLLM V1 (vllm-project/vllm v0.15.1:
// kv_cache_coordinator.py, single_type_kv_cache_manager.py, block_pool.py; grouped_prefixes.h says which blocks are
// hit, and is this pool's slow model).
//
// The name of a content in a group is that of its block, times the number of groups, plus the group. Blocks come from
// the front of one queue. Freed blocks go to its back, including those that a window leaves behind, and can be hit
// there until they are handed out again. With a replacement policy (memory.replacement) the policy chooses the block to
// hand out: see idle_blocks.h.
#include <algorithm>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/group_reach.h"
#include "simulator/memory/grouped_pool.h"
#include "simulator/memory/named_blocks.h"

namespace kvplan::memory {
namespace {

using core::MemoryLayout;
using core::PrefixHit;

/// `Idle` chooses the block that is handed out: one of the classes of idle_blocks.h.
template <class Idle>
class GroupedWithPrefixes final : public core::Allocator, public core::Contents, public core::BlockReturns {
 public:
  /// `idle`: constructor arguments of Idle.
  template <class... MadeFrom>
  GroupedWithPrefixes(const GroupedParts& parts, const AllocatorRequest& request, MadeFrom&&... idle)
      : parts_(parts),
        groups_(std::ssize(parts_.layout.groups)),
        alloc_unit_(parts_.layout.alloc_unit_tokens),
        workload_(*request.workload),
        names_(workload_, alloc_unit_),
        pool_(parts_.layout.alloc_units, true, names_.shared_count() * groups_, request.places(), listener_,
              std::forward<MadeFrom>(idle)...) {
    pool_.follow_prefixes(workload_, names_, parts_.layout.groups, alloc_unit_);
  }

  const MemoryLayout& layout() const override { return parts_.layout; }
  core::PoolCounts counts() const override { return pool_.counts(); }
  core::Contents* contents() override { return this; }
  core::BlockReturns* block_returns() override { return this; }
  std::int64_t growth_tokens() const override { return -1; }
  std::int64_t next_growth(RequestId r) const override {
    const Holder* holder = pool_.holders().find(r);
    KVPLAN_CHECK(holder != nullptr, r);
    return std::ssize(holder->blocks) / groups_ * alloc_unit_;
  }
  bool fits_empty(RequestId r) const override {
    return parts_.most_blocks(workload_.final_tokens(r)) <= parts_.layout.alloc_units;
  }
  std::uint64_t lookup_epoch() const override { return pool_.epoch(); }

  PrefixHit lookup(RequestId r, std::int64_t num_tokens) override {
    pool_.begin_lookup();
    if constexpr (Idle::kByContent) pool_.expire(r, num_tokens);
    const std::int64_t blocks = longest(r, num_tokens);
    const Holder* holder = pool_.holders().find(r);
    PrefixHit found{.tokens = blocks * alloc_unit_, .idle = 0};
    found_.assign(static_cast<std::size_t>(blocks * groups_), kNoBlock);
    for (std::int64_t g = 0; g < groups_; ++g) {
      for (std::int64_t b = std::max<std::int64_t>(blocks - taken(g, blocks), 0); b < blocks; ++b) {
        const BlockId block = copy(holder, r, b, g);
        found_[entry(b, g)] = block;
        if (pool_.find(block)) ++found.idle;
      }
    }
    return found;
  }
  std::int64_t cached_tokens(RequestId r, std::int64_t num_tokens) const override {
    return longest(r, num_tokens) * alloc_unit_;
  }

  bool admit(RequestId r, const PrefixHit& found, std::int64_t tokens, std::int64_t /*goal*/) override {
    const std::int64_t hits = std::ssize(found_) / groups_;
    const std::int64_t blocks = ceil_div(tokens, alloc_unit_);
    if ((blocks - hits) * groups_ + found.idle > pool_.idle()) return false;
    Holder& holder = pool_.holders().make(r);
    KVPLAN_CHECK(holder.blocks.empty(), r);
    holder.blocks = found_;
    for (std::size_t e = 0; e < found_.size(); ++e)
      if (found_[e] != kNoBlock) pool_.hold(found_[e], r, static_cast<std::int64_t>(e));
    holder.published = hits;
    take(holder, blocks);
    pool_.begin_epoch();
    return true;
  }

  bool grow(RequestId r, std::int64_t tokens) override {
    Holder& holder = pool_.holders().existing(r);
    const std::int64_t held = std::ssize(holder.blocks) / groups_;
    const std::int64_t blocks = std::max(ceil_div(tokens, alloc_unit_), held);
    if ((blocks - held) * groups_ > pool_.idle()) return false;
    take(holder, blocks);
    return true;
  }

  void insert(RequestId r, std::int64_t tokens) override {
    Holder& holder = pool_.holders().existing(r);
    const std::int64_t full = tokens / alloc_unit_;
    for (std::int64_t g = 0; g < groups_; ++g)
      for (std::int64_t b = holder.published; b < full; ++b) insert(holder, r, b, g);
    holder.published = std::max(holder.published, full);
  }
  /// No request in this pool drops tokens by a policy or follows a course.
  void close(RequestId r, std::int64_t /*written*/) override { KVPLAN_CHECK(false, r); }
  void cut_table(RequestId r, std::int64_t /*allocation units*/) override { KVPLAN_CHECK(false, r); }

  void free_entries(RequestId r, std::span<const std::int32_t> entries) override {
    Holder& holder = pool_.holders().existing(r);
    for (const std::int32_t e : entries) free_entry(holder, r, e, true);
  }

  void release(RequestId r, std::int64_t written) override {
    Holder& holder = pool_.holders().existing(r);
    const bool comes_back = written < workload_.final_tokens(r);
    for (std::int64_t g = 0; g < groups_; ++g)
      for (std::int64_t e = std::ssize(holder.blocks) - groups_ + g; e >= 0; e -= groups_)
        if (holder.blocks[static_cast<std::size_t>(e)] != kNoBlock) free_entry(holder, r, e, comes_back);
    holder.blocks.clear();
  }
  void forget(RequestId r) override { pool_.forget(r); }

  core::BlockTable table(RequestId r) const override {
    const Holder* holder = pool_.holders().find(r);
    if (holder == nullptr) return {};
    return {holder->blocks, std::ssize(holder->blocks)};
  }
  core::Observer* clock() override {
    if constexpr (Idle::kByContent) return pool_.idle_blocks().clock();
    return nullptr;
  }

 private:
  using Pool = NamedBlocks<Idle, GroupReach>;
  using Holder = BlockHolder;

  [[nodiscard]] std::size_t entry(std::int64_t block, std::int64_t group) const {
    return static_cast<std::size_t>(block * groups_ + group);
  }
  [[nodiscard]] std::int64_t name(RequestId r, std::int64_t block, std::int64_t group) const {
    return names_.shared_name(r, block) * groups_ + group;
  }
  [[nodiscard]] std::int64_t window(std::int64_t group) const {
    return parts_.layout.groups[static_cast<std::size_t>(group)].window;
  }
  /// Of the last ones of `blocks` leading hit blocks, the number that a group takes; may be more than `blocks`.
  [[nodiscard]] std::int64_t taken(std::int64_t group, std::int64_t blocks) const {
    return window(group) == 0 ? blocks : std::max<std::int64_t>(ceil_div(window(group) - 1, alloc_unit_), 1);
  }

  /// Oldest findable copy of a content, kNoBlock if there is none. `holder`: the request's entry, may be null.
  [[nodiscard]] BlockId copy(const Holder* holder, RequestId r, std::int64_t block,
                             std::int64_t group) const {
    if (block < names_.shared_blocks(r)) {
      const BlockId b = pool_.shared_copy(name(r, block, group));
      return b == Pool::kNullBlock ? kNoBlock : b;
    }
    return holder == nullptr ? kNoBlock : pool_.own_copy(*holder, r, block * groups_ + group);
  }

  /// The largest number of leading blocks that every group has, with fewer than `num_tokens` tokens.
  [[nodiscard]] std::int64_t longest(RequestId r, std::int64_t num_tokens) const {
    const Holder* holder = pool_.holders().find(r);
    std::int64_t blocks = (num_tokens - 1) / alloc_unit_;
    for (std::int64_t g = 0; g < groups_; ++g) {
      if (window(g) > 0) continue;
      std::int64_t b = 0;
      while (b < blocks && copy(holder, r, b, g) != kNoBlock) ++b;
      blocks = b;
    }
    // The remaining blocks are cached in groups without windows, and so is any prefix of them.
    for (std::int64_t settled = 0, g = 0; settled < groups_; g = (g + 1) % groups_) {
      const std::int64_t shorter = window(g) == 0 ? blocks : longest_shown(holder, r, g, blocks);
      settled = shorter < blocks ? 1 : settled + 1;
      blocks = shorter;
    }
    return blocks;
  }
  /// The largest number of leading blocks, at most `most`, for which a group with a window has the last ones.
  [[nodiscard]] std::int64_t longest_shown(const Holder* holder, RequestId r, std::int64_t group,
                                           std::int64_t most) const {
    const std::int64_t wanted = taken(group, most);
    std::int64_t end = most;
    for (std::int64_t b = most - 1; b >= 0 && end - b <= wanted; --b)
      if (copy(holder, r, b, group) == kNoBlock) end = b;
    return end;
  }

  /// Makes room for `blocks` logical blocks in all. REQUIRES: there are enough idle blocks.
  void take(Holder& holder, std::int64_t blocks) {
    const std::int64_t first = std::ssize(holder.blocks) / groups_;
    if (first >= blocks) return;
    if constexpr (Idle::kByContent) pool_.begin_epoch();
    holder.blocks.resize(static_cast<std::size_t>(blocks * groups_));
    for (std::int64_t g = 0; g < groups_; ++g)
      for (std::int64_t b = first; b < blocks; ++b) holder.blocks[entry(b, g)] = pool_.take();
  }

  void free_entry(Holder& holder, RequestId r, std::int64_t e, bool comes_back) {
    BlockId& block = holder.blocks[static_cast<std::size_t>(e)];
    const auto whole = [&] { return ceil_div(workload_.final_tokens(r), alloc_unit_) * groups_; };
    if (comes_back) pool_.remember(holder, r, e, block, whole);
    pool_.free_block(std::exchange(block, kNoBlock), r, e);
  }

  void insert(const Holder& holder, RequestId r, std::int64_t b, std::int64_t group) {
    const auto e = static_cast<std::int64_t>(entry(b, group));
    const BlockId block = holder.blocks[entry(b, group)];
    if (block == kNoBlock) return;
    BlockId before = kNoBlock;
    if (Idle::kByContent && b > 0) {
      before = holder.blocks[entry(b - 1, group)];
      if (before == kNoBlock)
        before = copy(&holder, r, b - 1, group);  // the block left a window, or was not taken
    }
    if (b >= names_.shared_blocks(r)) return pool_.insert_own(holder, r, e, block, before);
    const std::int64_t content = name(r, b, group);
    // A failed lookup may no longer end here. It does not store all contents that it missed, so any of them counts.
    if (pool_.shared_copy(content) == Pool::kNullBlock) pool_.begin_epoch();
    pool_.insert_shared(r, e, block, content, before);
  }

  GroupedParts parts_;
  std::int64_t groups_, alloc_unit_;
  const core::Workload& workload_;
  core::ContentNames names_;
  Pool pool_;
  std::vector<BlockId> found_;  // result of the latest lookup, by table entry
};

}  // namespace

Result<std::unique_ptr<core::Allocator>> make_grouped_prefixes(const GroupedParts& parts,
                                                               const AllocatorRequest& request) {
  if (!replaces_by_policy(request))
    return std::unique_ptr<core::Allocator>(
        std::make_unique<GroupedWithPrefixes<BlocksInQueue>>(parts, request));
  const auto groups = std::ssize(parts.layout.groups);
  KVPLAN_TRY(auto policy, make_pool_policy(parts.layout, request));
  const std::int64_t shared_names =
      core::ContentNames(*request.workload, parts.layout.alloc_unit_tokens).shared_count() * groups;
  return std::unique_ptr<core::Allocator>(std::make_unique<GroupedWithPrefixes<BlocksByPolicy>>(
      parts, request, std::move(policy), shared_names, groups));
}

}  // namespace kvplan::memory
