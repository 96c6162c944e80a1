// Plain model of the paged pool with several tables: every block is a number in a set, every table entry says which one
// it has.
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
      : layout_(layout), workload_(*request.workload) {
    layout_.block_ids = false;
    for (std::int64_t b = 0; b < layout_.quanta; ++b) free_.insert(free_.end(), b);
  }

  const core::MemoryLayout& layout() const override { return layout_; }
  core::PoolCounts counts() const override {
    const auto free = static_cast<std::int64_t>(free_.size());
    return {.free = free, .cached = 0, .held = layout_.quanta - free, .distinct_names = 0};
  }
  core::BlockReturns* block_returns() override { return this; }
  std::int64_t growth_tokens() const override { return layout_.quantum_tokens; }
  bool fits_empty(RequestId r) const override {
    std::int64_t blocks = 0;
    for (std::int64_t token = 0; token < workload_.final_tokens(r); token += layout_.quantum_tokens)
      blocks += layout_.tables;
    return blocks <= layout_.quanta;
  }
  bool admit(RequestId r, const core::Found& /*found*/, std::int64_t tokens, std::int64_t /*goal*/) override {
    std::int64_t blocks = 0;
    for (std::int64_t token = 0; token < tokens; token += layout_.quantum_tokens) blocks += layout_.tables;
    if (blocks > static_cast<std::int64_t>(free_.size())) return false;
    reach(table_of_[r], blocks);
    return true;
  }
  bool grow(RequestId r, std::int64_t slots) override {
    std::vector<std::int64_t>& table = table_of_.at(r);
    const auto length = static_cast<std::int64_t>(table.size());
    std::int64_t wanted = length;
    while (wanted * layout_.quantum_tokens < slots) ++wanted;
    if (wanted - length > static_cast<std::int64_t>(free_.size())) return false;
    reach(table, wanted);
    return true;
  }
  void release(RequestId r, std::int64_t /*written*/) override {
    cut(table_of_.at(r), 0);
    table_of_.erase(r);
  }
  core::BlockTable table(RequestId r) const override {
    const auto found = table_of_.find(r);
    if (found == table_of_.end()) return {};
    return {{}, static_cast<std::int64_t>(found->second.size())};
  }
  Dropped drop(RequestId r, std::int64_t /*sink*/, std::int64_t /*begin*/,
               std::int64_t /*written*/) override {
    KVPLAN_CHECK(false, r);
    return {};
  }
  void let_go(RequestId r, std::span<const std::int32_t> entries) override {
    for (const std::int32_t entry : entries) give_back(table_of_.at(r).at(static_cast<std::size_t>(entry)));
  }
  void cut_table(RequestId r, std::int64_t quanta) override { cut(table_of_.at(r), quanta); }

 private:
  static constexpr std::int64_t kGone = -1;

  void reach(std::vector<std::int64_t>& table, std::int64_t length) {
    while (static_cast<std::int64_t>(table.size()) < length) {
      table.push_back(*free_.begin());
      free_.erase(free_.begin());
    }
  }
  void cut(std::vector<std::int64_t>& table, std::int64_t length) {
    while (static_cast<std::int64_t>(table.size()) > length) {
      if (table.back() != kGone) give_back(table.back());
      table.pop_back();
    }
  }
  void give_back(std::int64_t& block) {
    KVPLAN_CHECK(block != kGone && free_.insert(block).second, block);
    block = kGone;
  }

  core::MemoryLayout layout_;
  const core::Workload& workload_;
  std::set<std::int64_t> free_;
  std::map<RequestId, std::vector<std::int64_t>> table_of_;
};

}  // namespace

std::unique_ptr<core::Allocator> make_paged_tables_model(const core::MemoryLayout& layout,
                                                         const AllocatorRequest& request) {
  return std::make_unique<TablesModel>(layout, request);
}

}  // namespace kvplan::memory
