// Plain model of the paged allocator: a linked list and a hash table from the standard library, one block at a time.
// It follows vllm-project/vllm v0.15.1, vllm/v1/core/block_pool.py and single_type_kv_cache_manager.py, operation by
// operation. It shares with allocator_paged.cpp only the layout arithmetic, the tree of contents (for which
// tests/engine/overlay_test.cpp has its own count), and the replacement policies (each has a model in
// tests/unit/replacement).
#include <algorithm>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/memory/paged_pool.h"
#include "simulator/memory/policy_model.h"
#include "simulator/memory/prefix_reach.h"

namespace kvplan::memory {
namespace {

using core::MemoryLayout;
using core::PoolCounts;
using core::PrefixHit;

class PagedModel final : public core::Allocator, public core::Contents, public core::BlockReturns {
 public:
  /// `policy`: if absent, the queue alone decides which block is handed out.
  PagedModel(const MemoryLayout& layout, const AllocatorRequest& request, std::optional<PoolPolicy> policy)
      : layout_(layout),
        workload_(*request.workload),
        names_(workload_, layout.alloc_unit_tokens),
        prefix_cache_(request.prefix_cache),
        refs_(static_cast<std::size_t>(layout.alloc_units) + 1, 0),
        name_of_(refs_.size()),
        place_of_(1) {
    for (const BlockId b : IdRange(BlockId{1}, id_at<BlockId>(layout.alloc_units + 1)))
      place_of_.push_back(free_queue_.insert(free_queue_.end(), b));
    if (policy) policy_.emplace(std::move(*policy), [this](const Name& name) { return is_unheld(name); });
  }

  const MemoryLayout& layout() const override { return layout_; }

  PoolCounts counts() const override {
    const auto idle = static_cast<std::int64_t>(free_queue_.size());
    return {.free = idle - cached_,
            .cached = cached_,
            .held = held_,
            .distinct_names = static_cast<std::int64_t>(table_.size()),
            .duplicates = duplicates_,
            .unreachable = reach_.unreachable(),
            .sharers = references_ - held_};
  }

  core::Contents* contents() override { return this; }
  core::BlockReturns* block_returns() override { return this; }
  std::int64_t growth_tokens() const override { return layout_.alloc_unit_tokens; }

  bool fits_empty(RequestId r) const override {
    return ceil_div(workload_.final_tokens(r), layout_.alloc_unit_tokens) <= layout_.alloc_units;
  }

  PrefixHit lookup(RequestId r, std::int64_t num_tokens) override {
    found_.clear();
    PrefixHit found;
    if (policy_) policy_->expire(r, num_tokens, epoch_, [this](const Name& name) { give_up_all(name); });
    if (prefix_cache_) {
      for (std::int64_t b = 0; b < (num_tokens - 1) / layout_.alloc_unit_tokens; ++b) {
        const auto hit = table_.find(name(r, b));
        if (hit == table_.end()) break;
        found_.push_back(hit->second.front());
        found.tokens += layout_.alloc_unit_tokens;
        if (refs_[at(found_.back())] == 0) ++found.idle;
      }
    }
    return found;
  }

  std::int64_t cached_tokens(RequestId r, std::int64_t num_tokens) const override {
    std::int64_t blocks = 0;
    const std::int64_t most = prefix_cache_ ? (num_tokens - 1) / layout_.alloc_unit_tokens : 0;
    while (blocks < most && table_.find(name(r, blocks)) != table_.end()) ++blocks;
    return blocks * layout_.alloc_unit_tokens;
  }

  std::uint64_t lookup_epoch() const override { return epoch_; }

  bool admit(RequestId r, const PrefixHit& found, std::int64_t tokens, std::int64_t /*goal*/) override {
    const std::int64_t fresh =
        ceil_div(tokens, layout_.alloc_unit_tokens) - static_cast<std::int64_t>(found_.size());
    if (fresh + found.idle > static_cast<std::int64_t>(free_queue_.size())) return false;
    Holder& holder = holders_[r];
    for (const BlockId b : found_) {
      ++references_;
      with_copies(name_of_[at(b)].name, [&] { ++refs_[at(b)]; });
      if (refs_[at(b)] == 1) {
        free_queue_.erase(place_of_[at(b)]);
        --cached_;
        ++held_;
      }
      if (policy_) policy_->hit(name_of_[at(b)].name, r, static_cast<std::int64_t>(holder.blocks.size()));
      holder.blocks.push_back(b);
    }
    holder.published = static_cast<std::int64_t>(found_.size());
    take(holder, fresh);
    ++epoch_;
    return true;
  }

  bool grow(RequestId r, std::int64_t tokens) override {
    Holder& holder = holders_.at(r);
    const std::int64_t fresh =
        ceil_div(tokens, layout_.alloc_unit_tokens) - static_cast<std::int64_t>(holder.blocks.size());
    if (fresh > static_cast<std::int64_t>(free_queue_.size())) return false;
    take(holder, fresh);
    return true;
  }

  void insert(RequestId r, std::int64_t tokens) override {
    Holder& holder = holders_.at(r);
    if (!prefix_cache_ || holder.closed) return;
    for (; holder.published < tokens / layout_.alloc_unit_tokens; ++holder.published) {
      const BlockId b = holder.blocks[static_cast<std::size_t>(holder.published)];
      name_of_[at(b)] = {true, name(r, holder.published)};
      auto& copies = table_[name_of_[at(b)].name];
      if (copies.empty()) reach_.appear(number(name_of_[at(b)].name));
      copies.push_back(b);  // it is held
      if (policy_) {
        const std::optional<Name> before =
            holder.published > 0 ? std::optional(name(r, holder.published - 1)) : std::nullopt;
        policy_->published(name_of_[at(b)].name, before, r, holder.published, copies.size() > 1);
      }
      if (listener_ != nullptr) listener_->on_insert(r, holder.published, b);
      ++epoch_;
    }
  }

  /// Nothing has to be inserted: full blocks are inserted as they fill.
  void close(RequestId r, std::int64_t /*written*/) override { holders_.at(r).closed = true; }

  void free_entries(RequestId r, std::span<const std::int32_t> entries) override {
    for (const std::int32_t logical : entries) {
      BlockId& block = holders_.at(r).blocks.at(static_cast<std::size_t>(logical));
      free_block(block, r, logical);
      block = kNoBlock;
    }
  }

  void cut_table(RequestId r, std::int64_t alloc_units) override {
    auto& blocks = holders_.at(r).blocks;
    while (static_cast<std::int64_t>(blocks.size()) > alloc_units) {
      free_block(blocks.back(), r, static_cast<std::int64_t>(blocks.size()) - 1);
      blocks.pop_back();
    }
  }

  void release(RequestId r, std::int64_t /*written*/) override {
    Holder& holder = holders_.at(r);
    for (std::size_t b = holder.blocks.size(); b-- > 0;)
      if (holder.blocks[b] != kNoBlock) free_block(holder.blocks[b], r, static_cast<std::int64_t>(b));
    holder = Holder{};
  }

  void forget(RequestId r) override { holders_.erase(r); }

  core::BlockTable table(RequestId r) const override {
    const auto holder = holders_.find(r);
    if (holder == holders_.end()) return {};
    return {holder->second.blocks, static_cast<std::int64_t>(holder->second.blocks.size())};
  }
  core::Observer* clock() override { return policy_ ? policy_->clock() : nullptr; }

 private:
  /// A shared name (request = -1, number = the name), or the position of a block in one request.
  struct Name {
    RequestId request{-1};
    std::int64_t number{0};
    auto operator<=>(const Name&) const = default;
  };
  struct HashName {
    std::size_t operator()(const Name& n) const {
      auto mixed = static_cast<std::uint64_t>(n.number) * 0x9E3779B97F4A7C15ULL;
      mixed ^= static_cast<std::uint64_t>(n.request) * 0xC2B2AE3D27D4EB4FULL;
      return static_cast<std::size_t>(mixed ^ (mixed >> 29));
    }
  };
  struct NameOfBlock {
    bool known{false};
    Name name{};
  };
  struct Holder {
    std::vector<BlockId> blocks;
    std::int64_t published{0};
    bool closed{false};
  };

  static std::size_t at(BlockId b) { return index(b); }

  /// Runs any change to a block with a content, or to its holders. Before the change the content's copies are
  /// subtracted from all counts, after it they are added again.
  template <class Change>
  void with_copies(const Name& name, Change change) {
    count_copies(name, -1);
    change();
    count_copies(name, 1);
  }
  void count_copies(const Name& name, int sign) {
    const auto copies = table_.find(name);
    if (copies == table_.end()) return;
    const auto& blocks = copies->second;
    const auto idle = [&](BlockId b) { return refs_[at(b)] == 0; };
    duplicates_ += sign * std::count_if(blocks.begin() + 1, blocks.end(), idle);
    reach_.add_cached(number(name), sign * std::count_if(blocks.begin(), blocks.end(), idle));
  }
  static std::uint64_t number(const Name& n) {
    return n.request == kNoRequest ? static_cast<std::uint64_t>(n.number) : own_name(n.request, n.number);
  }

  [[nodiscard]] Name name(RequestId r, std::int64_t block) const {
    if (block < names_.shared_blocks(r)) return {kNoRequest, names_.shared_name(r, block)};
    return {r, block};
  }

  void take(Holder& holder, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const BlockId b = next_block();
      free_queue_.erase(place_of_[at(b)]);
      if (name_of_[at(b)].known) give_up_name(b);
      refs_[at(b)] = 1;
      ++held_;
      ++references_;
      ++epoch_;
      holder.blocks.push_back(b);
    }
  }

  /// The block to hand out next, among those that no request holds.
  BlockId next_block() {
    if (!policy_) return free_queue_.front();
    for (const BlockId b : free_queue_)
      if (!name_of_[at(b)].known) return b;
    for (const BlockId b : free_queue_)
      if (table_.at(name_of_[at(b)].name).size() > 1) return b;
    return table_.at(policy_->victim()).front();
  }

  /// The block is idle and loses its content: lookups no longer find it.
  void give_up_name(BlockId b) {
    const Name name = name_of_[at(b)].name;
    with_copies(name, [&] {
      auto& copies = table_.at(name);
      std::erase(copies, b);
      if (!copies.empty()) return;
      table_.erase(name);
      reach_.vanish(number(name));
    });
    name_of_[at(b)].known = false;
    if (policy_) policy_->given_up(name);
    --cached_;
    if (listener_ != nullptr) listener_->on_evict_block(b);
  }

  void free_block(BlockId b, RequestId r, std::int64_t logical) {
    KVPLAN_CHECK(refs_[at(b)] > 0, b);
    --references_;
    if (name_of_[at(b)].known) {
      with_copies(name_of_[at(b)].name, [&] { --refs_[at(b)]; });
    } else {
      --refs_[at(b)];
    }
    if (refs_[at(b)] == 0) {
      place_of_[at(b)] = free_queue_.insert(free_queue_.end(), b);
      --held_;
      if (name_of_[at(b)].known) ++cached_;
      if (policy_ && name_of_[at(b)].known && is_unheld(name_of_[at(b)].name))
        policy_->unpin(name_of_[at(b)].name, r, logical);
    }
    ++epoch_;
  }

  // ---- with a policy ----

  [[nodiscard]] bool is_unheld(const Name& name) const {
    const auto copies = table_.find(name);
    return copies != table_.end() && std::all_of(copies->second.begin(), copies->second.end(),
                                                 [&](BlockId b) { return refs_[at(b)] == 0; });
  }
  void give_up_all(const Name& name) {
    const std::vector<BlockId> copies = table_.at(name);
    for (const BlockId b : copies) {
      give_up_name(b);
      free_queue_.splice(free_queue_.end(), free_queue_, place_of_[at(b)]);
    }
  }

  MemoryLayout layout_;
  const core::Workload& workload_;
  core::ContentNames names_;
  bool prefix_cache_;
  std::optional<PolicyModel<Name>> policy_;
  std::list<BlockId> free_queue_;
  std::vector<std::int64_t> refs_;
  std::vector<NameOfBlock> name_of_;
  std::vector<std::list<BlockId>::iterator> place_of_;  // positions of blocks that no request holds
  std::int64_t cached_{0};
  std::int64_t held_{0};
  std::int64_t references_{0};  // entries of all tables
  std::int64_t duplicates_{0};
  PrefixReach reach_{workload_, names_};  // always used; the other implementation waits for a drop
  std::unordered_map<Name, std::vector<BlockId>, HashName>
      table_;  // copies in the order in which they were made findable
  std::unordered_map<RequestId, Holder> holders_;
  std::vector<BlockId> found_;
  std::uint64_t epoch_{0};
};

}  // namespace

Result<std::unique_ptr<core::Allocator>> make_paged_model(const Choice& choice,
                                                          const AllocatorRequest& request) {
  KVPLAN_TRY(const MemoryLayout layout, paged_layout(choice.integer("block_tokens"), request));
  if (layout.tables > 1 || request.alloc_units_beyond > 0) return make_paged_tables_model(layout, request);
  std::optional<PoolPolicy> policy;
  if (replaces_by_policy(request)) {
    KVPLAN_TRY(policy, make_pool_policy(layout, request));
  }
  return std::unique_ptr<core::Allocator>(std::make_unique<PagedModel>(layout, request, std::move(policy)));
}

}  // namespace kvplan::memory
