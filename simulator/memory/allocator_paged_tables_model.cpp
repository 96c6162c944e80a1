// Plain model of the paged pool with several tables: every block is a number in a set, free or held by one request.
#include <map>
#include <set>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/paged_pool.h"

namespace kvplan::memory {
namespace {

class TablesModel final : public core::Allocator, public core::BlockReturns {
 public:
  TablesModel(const core::MemoryLayout& layout, const AllocatorRequest& request)
      : layout_(layout), workload_(*request.workload), beyond_(request.alloc_units_beyond) {
    layout_.ids = core::AllocUnitIds::kNone;
    for (std::int64_t b = 0; b < layout_.alloc_units; ++b) free_.insert(free_.end(), b);
  }

  const core::MemoryLayout& layout() const override { return layout_; }
  core::PoolCounts counts() const override {
    const auto free = static_cast<std::int64_t>(free_.size());
    return {.free = free, .cached = 0, .held = layout_.alloc_units - free, .distinct_names = 0};
  }
  core::BlockReturns* block_returns() override { return this; }
  std::int64_t growth_tokens() const override { return layout_.alloc_unit_tokens; }
  bool fits_empty(RequestId r) const override {
    std::int64_t blocks = beyond_;
    for (std::int64_t token = 0; token < workload_.final_tokens(r); token += layout_.alloc_unit_tokens)
      blocks += layout_.tables;
    return blocks <= layout_.alloc_units;
  }
  bool admit(RequestId r, const core::PrefixHit& /*found*/, std::int64_t tokens,
             std::int64_t /*goal*/) override {
    std::int64_t blocks = 0;
    for (std::int64_t token = 0; token < tokens; token += layout_.alloc_unit_tokens) blocks += layout_.tables;
    if (blocks > static_cast<std::int64_t>(free_.size())) return false;
    reach(tables_of_[r], blocks);
    return true;
  }
  bool grow(RequestId r, std::int64_t slots) override {
    Tables& tables = tables_of_.at(r);
    std::int64_t wanted = tables.length;
    while (wanted * layout_.alloc_unit_tokens < slots) ++wanted;
    if (wanted - tables.length > static_cast<std::int64_t>(free_.size())) return false;
    reach(tables, wanted);
    return true;
  }
  void release(RequestId r, std::int64_t /*written*/) override {
    Tables& tables = tables_of_.at(r);
    while (!tables.blocks.empty()) free_one(tables);
    tables_of_.erase(r);
  }
  core::BlockTable table(RequestId r) const override {
    const auto found = tables_of_.find(r);
    if (found == tables_of_.end()) return {};
    return {{}, found->second.length};
  }
  void free_entries(RequestId r, std::span<const std::int32_t> entries) override {
    Tables& tables = tables_of_.at(r);
    for (const std::int32_t entry : entries) {
      KVPLAN_CHECK(tables.gone.insert(entry).second, r, entry);
      free_one(tables);
    }
  }
  void cut_table(RequestId r, std::int64_t alloc_units) override {
    Tables& tables = tables_of_.at(r);
    for (; tables.length > alloc_units; --tables.length) free_one(tables);
  }

 private:
  /// The tables of one request. They may differ in length, which is not recorded: it is unknown which block
  /// belongs to which table.
  struct Tables {
    std::vector<std::int64_t> blocks;  // blocks that it holds
    std::int64_t length{0};            // blocks in all tables, freed ones included
    std::set<std::int32_t> gone;       // freed entries
  };

  void reach(Tables& tables, std::int64_t length) {
    for (; tables.length < length; ++tables.length) {
      tables.blocks.push_back(*free_.begin());
      free_.erase(free_.begin());
    }
  }
  void free_one(Tables& tables) {
    KVPLAN_CHECK(!tables.blocks.empty() && free_.insert(tables.blocks.back()).second, tables.length);
    tables.blocks.pop_back();
  }

  core::MemoryLayout layout_;
  const core::Workload& workload_;
  std::int64_t beyond_;
  std::set<std::int64_t> free_;
  std::map<RequestId, Tables> tables_of_;
};

}  // namespace

std::unique_ptr<core::Allocator> make_paged_tables_model(const core::MemoryLayout& layout,
                                                         const AllocatorRequest& request) {
  return std::make_unique<TablesModel>(layout, request);
}

}  // namespace kvplan::memory
