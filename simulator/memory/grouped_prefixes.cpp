#include "simulator/memory/grouped_prefixes.h"

#include <algorithm>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::memory {

GroupedPrefixes::GroupedPrefixes(const core::Workload& workload, std::int64_t block_tokens,
                                 std::vector<std::int64_t> windows, std::int64_t blocks, bool prefix_cache,
                                 std::int64_t state_blocks)
    : workload_(workload),
      names_(workload, block_tokens),
      block_tokens_(block_tokens),
      windows_(std::move(windows)),
      prefix_cache_(prefix_cache),
      pool_blocks_(blocks),
      state_blocks_(state_blocks),
      blocks_(1) {}

void GroupedPrefixes::follow_prefixes() {
  KVPLAN_CHECK(found_in_.empty());
  std::vector<model::LayerGroup> groups;
  for (const std::int64_t window : windows_) groups.push_back({.layers = 1, .window = window});
  reach_.emplace(workload_, names_, groups, block_tokens_);
}

void GroupedPrefixes::set_policy(PoolPolicy policy) {
  KVPLAN_CHECK(blocks_.size() == 1);
  policy_.emplace(std::move(policy), [this](const Name& name) { return is_unheld(name); });
}

core::PoolCounts GroupedPrefixes::counts() const {
  const std::int64_t held = pool_blocks_ - 1 - free_blocks();
  return {.free = free_blocks() - cached_,
          .cached = cached_,
          .held = held,
          .distinct_names = distinct_names(),
          .duplicates = duplicates_,
          .unreachable = reach_ ? reach_->unreachable() : 0,
          .sharers = references_ - held};
}

GroupedPrefixes::Name GroupedPrefixes::name(RequestId r, std::size_t group, std::int64_t block) const {
  return block < names_.shared_blocks(r) ? Name{group, kNoRequest, names_.shared_name(r, block)}
                                         : Name{group, r, block};
}

/// The name in the form that GroupReach uses.
std::uint64_t GroupedPrefixes::number(const Name& name) const {
  const auto& [group, r, block] = name;
  const auto place = static_cast<std::uint64_t>(block) * windows_.size() + group;
  return r == kNoRequest ? place : own_name(r, static_cast<std::int64_t>(place));
}

void GroupedPrefixes::count_copies(const Name& name, int sign) {
  const auto copies = found_in_.find(name);
  if (copies == found_in_.end()) return;
  const auto idle = [this](BlockId b) { return at(b).holders == 0; };
  const std::int64_t all = sign * std::count_if(copies->second.begin(), copies->second.end(), idle);
  const std::int64_t younger = sign * std::count_if(copies->second.begin() + 1, copies->second.end(), idle);
  cached_ += all;
  duplicates_ += younger;
  if (copies->second.size() > 1) spare_ += all;
  if (reach_) reach_->add_cached(number(name), all);
}

void GroupedPrefixes::change_holders(BlockId b, std::int64_t by) {
  references_ += by;
  const bool named = at(b).named;
  if (named) count_copies(at(b).name, -1);
  at(b).holders += by;
  if (named) count_copies(at(b).name, 1);
}

std::vector<BlockId> GroupedPrefixes::find(RequestId r, std::size_t group, std::int64_t most) const {
  const auto cached = [&](std::int64_t b) {
    const auto copies = found_in_.find(name(r, group, b));
    return copies == found_in_.end() ? kNoBlock : copies->second.front();
  };
  std::vector<BlockId> out;
  if (windows_[group] == 0) {
    for (std::int64_t b = 0; b < most && cached(b) != kNoBlock; ++b) out.push_back(cached(b));
    return out;
  }
  const std::int64_t wanted = ceil_div(windows_[group] - 1, block_tokens_);
  out.assign(static_cast<std::size_t>(most), kNoBlock);
  std::int64_t in_a_row = 0;
  for (std::int64_t b = most - 1; b >= 0; --b) {
    const BlockId block = cached(b);
    out[static_cast<std::size_t>(b)] = block;
    in_a_row = block == kNoBlock ? 0 : in_a_row + 1;
    if (in_a_row > 0 && in_a_row >= wanted) {
      out.resize(static_cast<std::size_t>(b + in_a_row));
      return out;
    }
    if (block == kNoBlock) out.resize(static_cast<std::size_t>(b));  // blocks after it do not count
  }
  return out;  // a shorter row of blocks, which begins with the first block
}

std::vector<std::vector<BlockId>> GroupedPrefixes::find_in_all(RequestId r, std::int64_t num_tokens) const {
  std::vector<std::vector<BlockId>> out(windows_.size());
  std::int64_t blocks = prefix_cache_ ? (num_tokens - 1) / block_tokens_ : 0;
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::size_t g = 0; g < windows_.size(); ++g) {
      out[g] = find(r, g, blocks);
      const auto hit = static_cast<std::int64_t>(out[g].size());
      shorter = shorter || hit < blocks;
      blocks = hit;
    }
  }
  return out;
}

core::PrefixHit GroupedPrefixes::lookup(RequestId r, std::int64_t num_tokens) {
  if (policy_) {
    policy_->expire(r, num_tokens, epoch_, [this](const Name& name) {
      const std::vector<BlockId> copies = found_in_.at(name);
      for (const BlockId b : copies) {
        give_up_name(b);
        free_.splice(free_.end(), free_, at(b).place);
      }
    });
  }
  found_.tables = find_in_all(r, num_tokens);
  found_.published = std::ssize(found_.tables.front());
  core::PrefixHit found{.tokens = found_.published * block_tokens_, .idle = 0};
  for (const auto& table : found_.tables)
    for (const BlockId b : table) found.idle += b != kNoBlock && at(b).holders == 0 ? 1 : 0;
  return found;
}

std::int64_t GroupedPrefixes::cached_tokens(RequestId r, std::int64_t num_tokens) const {
  return std::ssize(find_in_all(r, num_tokens).front()) * block_tokens_;
}

std::int64_t GroupedPrefixes::missing(const Holder& holder, std::int64_t tokens) const {
  std::int64_t sum = 0;
  for (const auto& table : holder.tables)
    sum +=
        std::max<std::int64_t>(ceil_div(tokens, block_tokens_) - static_cast<std::int64_t>(table.size()), 0);
  return sum;
}

bool GroupedPrefixes::admit(RequestId r, std::int64_t tokens) {
  KVPLAN_CHECK(holders_.count(r) == 0, r);
  std::int64_t idle = 0;
  for (const auto& table : found_.tables)
    for (const BlockId b : table) idle += b != kNoBlock && at(b).holders == 0 ? 1 : 0;
  if (missing(found_, tokens) + idle + state_blocks_ > free_blocks()) return false;
  for (std::int64_t block = 0; block < found_.published; ++block) {
    for (const auto& table : found_.tables) {
      const BlockId b = table[static_cast<std::size_t>(block)];
      if (b == kNoBlock) continue;
      if (at(b).holders == 0) free_.erase(at(b).place);
      change_holders(b, 1);
      if (policy_) policy_->hit(at(b).name, r, block);
    }
  }
  Holder& holder = holders_[r] = std::move(found_);
  for (std::int64_t i = 0; i < state_blocks_; ++i) holder.states.push_back(take());
  fill(holder, tokens);
  ++epoch_;
  return true;
}

bool GroupedPrefixes::grow(RequestId r, std::int64_t tokens) {
  Holder& holder = holders_.at(r);
  if (missing(holder, tokens) > free_blocks()) return false;
  fill(holder, tokens);
  return true;
}

void GroupedPrefixes::leave_windows(RequestId r, std::int64_t computed) {
  Holder& holder = holders_.at(r);
  for (std::size_t g = 0; g < windows_.size(); ++g) {
    if (windows_[g] == 0) continue;
    const std::int64_t unseen = std::max<std::int64_t>(computed + 1 - windows_[g], 0) / block_tokens_;
    for (std::int64_t b = std::min(unseen, static_cast<std::int64_t>(holder.tables[g].size())) - 1; b >= 0;
         --b) {
      BlockId& block = holder.tables[g][static_cast<std::size_t>(b)];
      if (block == kNoBlock) break;  // so are all below it
      give_back(block, r, entry(b, g));
    }
  }
}

void GroupedPrefixes::free_entries(RequestId r, std::span<const std::int32_t> entries) {
  const auto groups = static_cast<std::int32_t>(windows_.size());
  for (const std::int32_t entry : entries) {
    auto& table = holders_.at(r).tables[static_cast<std::size_t>(entry % groups)];
    BlockId& block = table.at(static_cast<std::size_t>(entry / groups));
    KVPLAN_CHECK(block != kNoBlock, r, entry);
    give_back(block, r, entry);
  }
}

void GroupedPrefixes::insert(RequestId r, std::int64_t tokens) {
  Holder& holder = holders_.at(r);
  if (!prefix_cache_) return;
  const std::int64_t full = tokens / block_tokens_;
  for (std::size_t g = 0; g < windows_.size(); ++g) {
    for (std::int64_t b = holder.published; b < full; ++b) {
      const BlockId block = holder.tables[g][static_cast<std::size_t>(b)];
      if (block == kNoBlock) continue;
      at(block).named = true;
      at(block).name = name(r, g, b);
      count_copies(at(block).name, -1);
      auto& copies = found_in_[at(block).name];
      if (copies.empty() && reach_) reach_->appear(number(at(block).name));
      copies.push_back(block);  // it is held
      count_copies(at(block).name, 1);
      ++epoch_;
      if (policy_) {
        std::optional<Name> before;
        if (b > 0 && found_in_.count(name(r, g, b - 1)) != 0) before = name(r, g, b - 1);
        policy_->published(at(block).name, before, r, b, copies.size() > 1);
      }
      if (listener_ != nullptr) listener_->on_insert(r, entry(b, g), block);
    }
  }
  holder.published = std::max(holder.published, full);
}

void GroupedPrefixes::release(RequestId r) {
  for (BlockId& block : holders_.at(r).states) give_back(block, r, 0);
  auto& tables = holders_.at(r).tables;
  for (std::size_t g = 0; g < tables.size(); ++g)
    for (std::int64_t b = std::ssize(tables[g]) - 1; b >= 0; --b)
      if (BlockId& block = tables[g][static_cast<std::size_t>(b)]; block != kNoBlock)
        give_back(block, r, entry(b, g));
  holders_.erase(r);
}

void GroupedPrefixes::fill(Holder& holder, std::int64_t tokens) {
  for (auto& table : holder.tables)
    while (static_cast<std::int64_t>(table.size()) * block_tokens_ < tokens) table.push_back(take());
}

BlockId GroupedPrefixes::take() {
  ++taken_;
  ++references_;
  ++epoch_;
  if (static_cast<std::int64_t>(blocks_.size()) < pool_blocks_) {
    blocks_.emplace_back().holders = 1;
    return id_at<BlockId>(blocks_.size() - 1);
  }
  const BlockId b = next_block();
  free_.erase(at(b).place);
  if (at(b).named) {
    give_up_name(b);
    ++evicted_;
  }
  at(b).holders = 1;
  return b;
}

BlockId GroupedPrefixes::next_block() {
  if (!policy_) return free_.front();
  if (free_blocks() > cached_)
    for (const BlockId b : free_)
      if (!at(b).named) return b;
  if (spare_ > 0)
    for (const BlockId b : free_)
      if (found_in_.at(at(b).name).size() > 1) return b;
  return found_in_.at(policy_->victim()).front();
}

void GroupedPrefixes::give_up_name(BlockId b) {
  const Name name = at(b).name;
  count_copies(name, -1);
  at(b).named = false;
  const auto copies = found_in_.find(name);
  std::erase(copies->second, b);
  if (copies->second.empty()) {
    found_in_.erase(copies);
    if (reach_) reach_->vanish(number(name));
  }
  count_copies(name, 1);
  if (policy_) policy_->given_up(name);
  if (listener_ != nullptr) listener_->on_evict_block(b);
}

void GroupedPrefixes::give_back(BlockId& block, RequestId r, std::int64_t entry) {
  ++epoch_;
  change_holders(block, -1);
  if (at(block).holders == 0) {
    at(block).place = free_.insert(free_.end(), block);
    if (policy_ && at(block).named && is_unheld(at(block).name))
      policy_->unpin(at(block).name, r, entry / std::ssize(windows_));
  }
  block = kNoBlock;
}

bool GroupedPrefixes::is_unheld(const Name& name) const {
  const auto copies = found_in_.find(name);
  return copies != found_in_.end() &&
         std::all_of(copies->second.begin(), copies->second.end(),
                     [this](BlockId b) { return blocks_[index(b)].holders == 0; });
}

}  // namespace kvplan::memory
