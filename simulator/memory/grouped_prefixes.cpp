#include "simulator/memory/grouped_prefixes.h"

#include <algorithm>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::memory {

GroupedPrefixes::GroupedPrefixes(const core::Workload& workload, std::int64_t block_tokens,
                                 std::vector<std::int64_t> windows, std::int64_t blocks, bool prefix_cache)
    : names_(workload, block_tokens),
      block_tokens_(block_tokens),
      windows_(std::move(windows)),
      prefix_cache_(prefix_cache),
      pool_blocks_(blocks),
      blocks_(1) {}

GroupedPrefixes::Name GroupedPrefixes::name(RequestId r, std::size_t group, std::int64_t block) const {
  return block < names_.shared_blocks(r) ? Name{group, -1, names_.shared_name(r, block)}
                                         : Name{group, r, block};
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
    if (block == kNoBlock) out.resize(static_cast<std::size_t>(b));  // nothing behind it counts
  }
  return out;  // a shorter run, which begins with the first block
}

std::int64_t GroupedPrefixes::lookup(RequestId r, std::int64_t num_tokens) {
  found_ = {std::vector<std::vector<BlockId>>(windows_.size()), 0};
  std::int64_t blocks = prefix_cache_ ? (num_tokens - 1) / block_tokens_ : 0;
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::size_t g = 0; g < windows_.size(); ++g) {
      found_.tables[g] = find(r, g, blocks);
      const auto hit = static_cast<std::int64_t>(found_.tables[g].size());
      shorter = shorter || hit < blocks;
      blocks = hit;
    }
  }
  found_.published = blocks;
  return blocks * block_tokens_;
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
  if (missing(found_, tokens) + idle > free_blocks()) return false;
  for (const auto& table : found_.tables) {
    for (const BlockId b : table) {
      if (b == kNoBlock) continue;
      if (at(b).holders++ == 0) free_.erase(at(b).place);
    }
  }
  fill(holders_[r] = std::move(found_), tokens);
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
      if (block == kNoBlock) break;  // so are those below it
      let_go(block);
    }
  }
}

void GroupedPrefixes::publish(RequestId r, std::int64_t tokens) {
  Holder& holder = holders_.at(r);
  if (!prefix_cache_) return;
  const std::int64_t full = tokens / block_tokens_;
  for (std::size_t g = 0; g < windows_.size(); ++g) {
    for (std::int64_t b = holder.published; b < full; ++b) {
      const BlockId block = holder.tables[g][static_cast<std::size_t>(b)];
      if (block == kNoBlock) continue;
      at(block).named = true;
      at(block).name = name(r, g, b);
      found_in_[at(block).name].push_back(block);
    }
  }
  holder.published = std::max(holder.published, full);
}

void GroupedPrefixes::release(RequestId r) {
  for (auto& table : holders_.at(r).tables)
    for (auto block = table.rbegin(); block != table.rend(); ++block)
      if (*block != kNoBlock) let_go(*block);
  holders_.erase(r);
}

void GroupedPrefixes::fill(Holder& holder, std::int64_t tokens) {
  for (auto& table : holder.tables)
    while (static_cast<std::int64_t>(table.size()) * block_tokens_ < tokens) table.push_back(take());
}

BlockId GroupedPrefixes::take() {
  ++taken_;
  if (static_cast<std::int64_t>(blocks_.size()) < pool_blocks_) {
    blocks_.emplace_back().holders = 1;
    return static_cast<BlockId>(blocks_.size() - 1);
  }
  const BlockId b = free_.front();
  free_.pop_front();
  Block& block = at(b);
  block.holders = 1;
  if (!std::exchange(block.named, false)) return b;
  const auto copies = found_in_.find(block.name);
  std::erase(copies->second, b);
  if (copies->second.empty()) found_in_.erase(copies);
  ++reclaimed_;
  return b;
}

void GroupedPrefixes::let_go(BlockId& block) {
  if (--at(block).holders == 0) at(block).place = free_.insert(free_.end(), block);
  block = kNoBlock;
}

}  // namespace kvplan::memory
