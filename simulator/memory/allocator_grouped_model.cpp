// The slow, obvious model of allocator_grouped.cpp and allocator_grouped_prefixes.cpp: the pool of grouped_prefixes.h
// behind an allocator's interface. It shares with them the arithmetic of the layout, and the count of cached blocks
// that no lookup reaches, for which tests/engine/overlay_test.cpp has a count of its own.
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/grouped_pool.h"
#include "simulator/memory/grouped_prefixes.h"

namespace kvplan::memory {
namespace {

std::vector<std::int64_t> windows_of(const core::MemoryLayout& layout) {
  std::vector<std::int64_t> windows;
  for (const model::LayerGroup& group : layout.groups) windows.push_back(group.window);
  return windows;
}

class GroupedModel final : public core::Allocator, public core::Contents, public core::BlockReturns {
 public:
  GroupedModel(const GroupedParts& parts, const AllocatorRequest& request, std::optional<PoolPolicy> policy)
      : parts_(parts),
        prefix_cache_(request.prefix_cache),
        workload_(*request.workload),
        pool_(workload_, parts.layout.alloc_unit_tokens, windows_of(parts.layout),
              parts.layout.alloc_units + 1, prefix_cache_, parts.layout.states.blocks) {
    if (prefix_cache_) pool_.follow_prefixes();
    if (policy) pool_.set_policy(std::move(*policy));
  }

  const core::MemoryLayout& layout() const override { return parts_.layout; }
  core::PoolCounts counts() const override { return pool_.counts(); }
  core::Contents* contents() override { return prefix_cache_ ? this : nullptr; }
  core::BlockReturns* block_returns() override { return this; }
  std::int64_t growth_tokens() const override { return -1; }
  /// Tries one token after the other.
  std::int64_t next_growth(RequestId r) const override {
    std::int64_t tokens = 0;
    while (pool_.has_room(r, tokens + 1)) ++tokens;
    return tokens;
  }
  bool fits_empty(RequestId r) const override {
    return parts_.most_blocks(workload_.final_tokens(r)) <= parts_.layout.alloc_units;
  }

  core::PrefixHit lookup(RequestId r, std::int64_t num_tokens) override {
    pool_.set_listener(listener_);
    return pool_.lookup(r, num_tokens);
  }
  std::int64_t cached_tokens(RequestId r, std::int64_t num_tokens) const override {
    return pool_.cached_tokens(r, num_tokens);
  }
  /// Any lookup may give another answer, so the number changes at each call.
  std::uint64_t lookup_epoch() const override { return ++asked_; }

  bool admit(RequestId r, const core::PrefixHit& /*found*/, std::int64_t tokens,
             std::int64_t /*goal*/) override {
    if (!prefix_cache_) pool_.lookup(r, tokens);  // the lookup finds nothing
    const bool admitted = pool_.admit(r, tokens);
    if (admitted) interleave(r);
    return admitted;
  }
  bool grow(RequestId r, std::int64_t tokens) override {
    const bool grown = pool_.grow(r, tokens);
    if (grown) interleave(r);
    return grown;
  }
  void insert(RequestId r, std::int64_t tokens) override { pool_.insert(r, tokens); }
  void close(RequestId r, std::int64_t /*written*/) override { KVPLAN_CHECK(false, r); }

  void free_entries(RequestId r, std::span<const std::int32_t> entries) override {
    pool_.free_entries(r, entries);
    interleave(r);
  }
  void cut_table(RequestId r, std::int64_t /*allocation units*/) override { KVPLAN_CHECK(false, r); }

  void release(RequestId r, std::int64_t /*written*/) override {
    pool_.release(r);
    tables_.erase(r);
  }
  void forget(RequestId r) override { KVPLAN_CHECK(!pool_.holds(r), r); }
  core::Observer* clock() override { return pool_.clock(); }
  core::BlockTable table(RequestId r) const override {
    const auto table = tables_.find(r);
    if (table == tables_.end()) return {};
    return {table->second, std::ssize(table->second)};
  }

 private:
  void interleave(RequestId r) {
    std::vector<BlockId>& table = tables_[r];
    table.clear();
    for (std::size_t b = 0; b < pool_.table(r, 0).size(); ++b)
      for (std::size_t g = 0; g < parts_.layout.groups.size(); ++g) table.push_back(pool_.table(r, g)[b]);
  }

  GroupedParts parts_;
  bool prefix_cache_;
  const core::Workload& workload_;
  GroupedPrefixes pool_;
  std::map<RequestId, std::vector<BlockId>> tables_;  // by entry
  mutable std::uint64_t asked_{0};
};

}  // namespace

Result<std::unique_ptr<core::Allocator>> make_grouped_model(const Choice& choice,
                                                            const AllocatorRequest& request) {
  KVPLAN_TRY(const GroupedParts parts, grouped_parts(choice, request));
  std::optional<PoolPolicy> policy;
  if (replaces_by_policy(request)) {
    KVPLAN_TRY(policy, make_pool_policy(parts.layout, request));
  }
  return std::unique_ptr<core::Allocator>(std::make_unique<GroupedModel>(parts, request, std::move(policy)));
}

}  // namespace kvplan::memory
