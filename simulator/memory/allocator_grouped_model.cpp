// The slow obvious model of allocator_grouped.cpp: one list of free blocks, and for every group of every request its
// own table, looked at block by block. Shares the arithmetic of the layout with it, and nothing else.
#include <deque>
#include <map>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/grouped_pool.h"

namespace kvplan::memory {
namespace {

class GroupedModel final : public core::Allocator, public core::BlockReturns {
 public:
  GroupedModel(const GroupedParts& parts, const AllocatorRequest& request)
      : parts_(parts), workload_(*request.workload) {
    for (BlockId b = 1; b <= parts_.layout.quanta; ++b) free_.push_back(b);
  }

  const core::MemoryLayout& layout() const override { return parts_.layout; }
  core::PoolCounts counts() const override {
    const auto free = static_cast<std::int64_t>(free_.size());
    return {.free = free, .cached = 0, .held = parts_.layout.quanta - free, .distinct_names = 0};
  }
  core::BlockReturns* block_returns() override { return this; }
  std::int64_t growth_tokens() const override { return -1; }
  /// Tried token by token.
  std::int64_t next_growth(RequestId r) const override {
    const Tables& tables = tables_.at(r);
    std::int64_t tokens = 0;
    while (missing(tables, tokens + 1) == 0) ++tokens;
    return tokens;
  }
  bool fits_empty(RequestId r) const override {
    return parts_.most_blocks(workload_.final_tokens(r)) <= parts_.layout.quanta;
  }

  bool admit(RequestId r, const core::Found& /*found*/, std::int64_t tokens, std::int64_t /*goal*/) override {
    Tables fresh{std::vector<std::vector<BlockId>>(groups().size()), {}};
    if (missing(fresh, tokens) > static_cast<std::int64_t>(free_.size())) return false;
    fill(tables_[r] = fresh, tokens);
    return true;
  }
  bool grow(RequestId r, std::int64_t tokens) override {
    Tables& tables = tables_.at(r);
    if (missing(tables, tokens) > static_cast<std::int64_t>(free_.size())) return false;
    fill(tables, tokens);
    return true;
  }

  void let_go(RequestId r, std::span<const std::int32_t> entries) override {
    Tables& tables = tables_.at(r);
    for (const std::int32_t entry : entries) {
      const auto count = static_cast<std::int32_t>(groups().size());
      BlockId& block = tables.groups.at(static_cast<std::size_t>(entry % count))
                           .at(static_cast<std::size_t>(entry / count));
      KVPLAN_CHECK(block != kNoBlock, r, entry);
      free_.push_back(block);
      block = kNoBlock;
    }
    interleave(tables);
  }
  void cut_table(RequestId r, std::int64_t /*quanta*/) override { KVPLAN_CHECK(false, r); }

  void release(RequestId r, std::int64_t /*written*/) override {
    for (const auto& blocks : tables_.at(r).groups)
      for (auto b = blocks.rbegin(); b != blocks.rend(); ++b)
        if (*b != kNoBlock) free_.push_back(*b);
    tables_.erase(r);
  }
  core::BlockTable table(RequestId r) const override {
    const auto tables = tables_.find(r);
    if (tables == tables_.end()) return {};
    return {tables->second.interleaved, static_cast<std::int64_t>(tables->second.interleaved.size())};
  }

 private:
  struct Tables {
    std::vector<std::vector<BlockId>> groups;
    std::vector<BlockId> interleaved;
  };
  [[nodiscard]] const std::vector<model::LayerGroup>& groups() const { return parts_.layout.groups; }

  /// Blocks that a request lacks for so many tokens.
  [[nodiscard]] std::int64_t missing(const Tables& tables, std::int64_t tokens) const {
    std::int64_t sum = 0;
    for (const auto& blocks : tables.groups)
      for (auto b = static_cast<std::int64_t>(blocks.size()); b * parts_.layout.quantum_tokens < tokens; ++b)
        ++sum;
    return sum;
  }
  void fill(Tables& tables, std::int64_t tokens) {
    for (auto& blocks : tables.groups) {
      while (static_cast<std::int64_t>(blocks.size()) * parts_.layout.quantum_tokens < tokens) {
        blocks.push_back(free_.front());
        free_.pop_front();
      }
    }
    interleave(tables);
  }
  static void interleave(Tables& tables) {
    tables.interleaved.clear();
    for (std::size_t b = 0; b < tables.groups.front().size(); ++b)
      for (const auto& blocks : tables.groups) tables.interleaved.push_back(blocks[b]);
  }

  GroupedParts parts_;
  const core::Workload& workload_;
  std::deque<BlockId> free_;
  std::map<RequestId, Tables> tables_;
};

}  // namespace

Result<std::unique_ptr<core::Allocator>> make_grouped_model(const Choice& choice,
                                                            const AllocatorRequest& request) {
  KVPLAN_TRY(const GroupedParts parts, grouped_parts(choice, request));
  return std::unique_ptr<core::Allocator>(std::make_unique<GroupedModel>(parts, request));
}

}  // namespace kvplan::memory
