// The paged pool for requests with a table for each layer or KV head (MemoryLayout::tables): blocks are smaller, and
// are freed table by table as courses say. Also for blocks of encoded bytes, several of which may be granted with one
// token. Blocks have no ids; they are only counted.
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/paged_pool.h"

namespace kvplan::memory {
namespace {

class TablesAllocator final : public core::Allocator, public core::BlockReturns {
 public:
  TablesAllocator(const core::MemoryLayout& layout, const AllocatorRequest& request)
      : layout_(layout),
        workload_(*request.workload),
        beyond_(request.alloc_units_beyond),
        holder_of_(request.places()) {
    layout_.ids = core::AllocUnitIds::kNone;
  }

  const core::MemoryLayout& layout() const override { return layout_; }
  core::PoolCounts counts() const override {
    return {.free = layout_.alloc_units - held_, .cached = 0, .held = held_, .distinct_names = 0};
  }
  core::BlockReturns* block_returns() override { return this; }
  std::int64_t growth_tokens() const override { return layout_.alloc_unit_tokens; }
  bool fits_empty(RequestId r) const override {
    return all_tables(workload_.final_tokens(r)) + beyond_ <= layout_.alloc_units;
  }

  bool admit(RequestId r, const core::PrefixHit& found, std::int64_t tokens, std::int64_t /*goal*/) override {
    KVPLAN_CHECK(found.tokens == 0 && holder_of_[r] < 0, r);
    const std::int64_t alloc_units = all_tables(tokens);
    if (alloc_units > layout_.alloc_units - held_) return false;
    if (idle_holders_.empty()) {
      idle_holders_.push_back(static_cast<std::int32_t>(holders_.size()));
      holders_.emplace_back();
    }
    holder_of_[r] = idle_holders_.back();
    idle_holders_.pop_back();
    holders_[static_cast<std::size_t>(holder_of_[r])] = {.length = alloc_units, .held = alloc_units};
    held_ += alloc_units;
    return true;
  }

  /// `slots`: slots of all tables (courses/course_of_tables.h).
  bool grow(RequestId r, std::int64_t slots) override {
    Holder& holder = existing(r);
    const std::int64_t more = ceil_div(slots, layout_.alloc_unit_tokens) - holder.length;
    if (more <= 0) return true;
    if (more > layout_.alloc_units - held_) return false;
    change(holder, more);
    holder.length += more;
    return true;
  }

  void release(RequestId r, std::int64_t /*written*/) override {
    held_ -= existing(r).held;
    std::int32_t& place = holder_of_[r];
    idle_holders_.push_back(place);
    place = -1;
  }

  core::BlockTable table(RequestId r) const override {
    const std::int32_t place = holder_of_[r];
    if (place < 0) return {};
    return {{}, holders_[static_cast<std::size_t>(place)].length};
  }

  void free_entries(RequestId r, std::span<const std::int32_t> entries) override {
    change(existing(r), -static_cast<std::int64_t>(entries.size()));
  }
  void cut_table(RequestId r, std::int64_t alloc_units) override {
    Holder& holder = existing(r);
    KVPLAN_CHECK(alloc_units < holder.length, alloc_units, holder.length);
    change(holder, alloc_units - holder.length);
    holder.length = alloc_units;
  }

 private:
  struct Holder {
    std::int64_t length{0};  ///< allocation units in all tables, freed ones included
    std::int64_t held{0};
  };

  /// Allocation units for `tokens` tokens of which nothing is dropped.
  [[nodiscard]] std::int64_t all_tables(std::int64_t tokens) const {
    return layout_.tables * ceil_div(tokens, layout_.alloc_unit_tokens);
  }
  Holder& existing(RequestId r) {
    const std::int32_t place = holder_of_[r];
    KVPLAN_CHECK(place >= 0, r);
    return holders_[static_cast<std::size_t>(place)];
  }
  void change(Holder& holder, std::int64_t alloc_units) {
    holder.held += alloc_units;
    held_ += alloc_units;
    KVPLAN_CHECK(holder.held >= 0, holder.held, alloc_units);
  }

  core::MemoryLayout layout_;
  const core::Workload& workload_;
  std::int64_t beyond_;
  core::RequestColumn<std::int32_t> holder_of_;  // by request; -1: none
  std::vector<Holder> holders_;
  std::vector<std::int32_t> idle_holders_;
  std::int64_t held_{0};
};

}  // namespace

std::unique_ptr<core::Allocator> make_paged_tables(const core::MemoryLayout& layout,
                                                   const AllocatorRequest& request) {
  return std::make_unique<TablesAllocator>(layout, request);
}

}  // namespace kvplan::memory
