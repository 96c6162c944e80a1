#include "simulator/observe/group_blocks.h"

#include <algorithm>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::observe {

using core::HeldCells;

GroupBlocks::Block& GroupBlocks::at(BlockId block) {
  const std::size_t i = index(block);
  if (blocks_.size() <= i) blocks_.resize(i + 1);
  return blocks_[i];
}

HeldCells GroupBlocks::cells_of(const Block& block) {
  if (block.holders.empty()) return {};
  const model::LayerGroup& group = groups_[static_cast<std::size_t>(block.entry) % groups_.size()];
  const std::int64_t layers = group.layers;
  std::int64_t hole = 0;
  if (group.window > 0) {
    std::int64_t least = INT64_MAX;
    for (const RequestId r : block.holders) least = std::min(least, member(r).written);
    const std::int64_t first = block.entry / std::ssize(groups_) * alloc_unit_;
    hole = std::clamp<std::int64_t>(least + 1 - group.window - first, 0, alloc_unit_);
  }
  KVPLAN_CHECK(hole <= block.written && block.written <= block.will_be, hole, block.written, block.will_be);
  return {.live = (block.written - hole) * layers,
          .reserved = (block.will_be - block.written) * layers,
          .hole = hole * layers,
          .tail = (alloc_unit_ - block.will_be) * layers,
          .padding = alloc_unit_ * (room_ - layers)};
}

void GroupBlocks::recount(BlockId b) {
  Block& block = at(b);
  const HeldCells now = cells_of(block);
  HeldCells& held = held_[kind_of_[static_cast<std::size_t>(block.entry) % groups_.size()]];
  held -= block.cells;
  held += now;
  block.cells = now;
}

/// A block that no request held has the state in which it was freed.
void GroupBlocks::begin(Member& m, const core::Admission& admission) {
  m.table.assign(admission.hits.begin(), admission.hits.end());
  KVPLAN_CHECK(std::ssize(m.table) == m.slots / alloc_unit_ * std::ssize(groups_), m.request, m.slots);
  for (std::size_t e = 0; e < m.table.size(); ++e) {
    if (m.table[e] == kNoBlock) continue;
    Block& block = at(m.table[e]);
    KVPLAN_CHECK(block.entry == static_cast<std::int64_t>(e) && block.will_be == alloc_unit_, m.table[e]);
    block.holders.push_back(m.request);
    recount(m.table[e]);
  }
}

void GroupBlocks::grant(const core::Grant& grant) {
  Member& m = member(grant.request);
  const Places places = add_places(m, grant.alloc_units);
  for (const BlockId b : grant.blocks) {
    Block& block = at(b);
    KVPLAN_CHECK(block.holders.empty(), b);
    block.entry = std::ssize(m.table);
    const std::int64_t first = block.entry / std::ssize(groups_) * alloc_unit_;
    block.written = 0;
    block.will_be = std::min(places.from + places.will_write - first, alloc_unit_);
    block.holders.push_back(grant.request);
    m.table.push_back(b);
    recount(b);
  }
}

void GroupBlocks::drop_holder(BlockId b, RequestId r) {
  auto& holders = at(b).holders;
  const auto holder = std::find(holders.begin(), holders.end(), r);
  KVPLAN_CHECK(holder != holders.end(), b, r);
  *holder = holders.back();
  holders.pop_back();
  recount(b);
}

void GroupBlocks::free_entries(RequestId r, std::span<const std::int32_t> entries) {
  auto& table = member(r).table;
  for (const std::int32_t e : entries)
    drop_holder(std::exchange(table[static_cast<std::size_t>(e)], kNoBlock), r);
}

void GroupBlocks::end(Member& m) {
  for (const BlockId b : m.table)
    if (b != kNoBlock) drop_holder(b, m.request);
}

/// For each group: updates the blocks that it writes, and the blocks of which its window now shows less than before.
void GroupBlocks::write(Member& m, std::int64_t from) {
  const auto groups = std::ssize(groups_);
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t b = from / alloc_unit_; b * alloc_unit_ < m.written; ++b) {
      const BlockId id = m.table[static_cast<std::size_t>(b * groups + g)];
      Block& block = at(id);
      block.written = std::max(block.written, std::min(m.written - b * alloc_unit_, alloc_unit_));
      touched_.push_back(id);
    }
    const std::int64_t window = groups_[static_cast<std::size_t>(g)].window;
    if (window == 0) continue;
    const std::int64_t left_from = std::max<std::int64_t>(from + 1 - window, 0);
    for (std::int64_t b = left_from / alloc_unit_; b * alloc_unit_ < m.written + 1 - window; ++b) {
      const BlockId id = m.table[static_cast<std::size_t>(b * groups + g)];
      if (id != kNoBlock) touched_.push_back(id);
    }
  }
}

void GroupBlocks::end_step() {
  for (const BlockId b : touched_) recount(b);
  touched_.clear();
}

}  // namespace kvplan::observe
