#include "simulator/observe/shared_blocks.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::observe {
namespace {

std::size_t position(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

// ---- drops of members ----

/// Calls drop_in(logical block, track, positions) for the drops of a member after each number of tokens from `from`
/// to `to`, block by block.
template <class DropIn>
void SharedBlocks::each_drop(const Member& m, std::int64_t from, std::int64_t to, DropIn drop_in) {
  const core::Drops& drops = *m.course->drops();
  for (std::int64_t n = std::max(from, m.course->shape().prompt); n <= to; ++n) {
    for (std::int32_t track = 0; track < std::ssize(m.track_units); ++track) {
      positions_.clear();
      drops.dropped(track, n, positions_);
      for (auto first = positions_.begin(); first != positions_.end();) {
        const std::int64_t logical = *first / alloc_unit_tokens_;
        const auto last = std::lower_bound(first, positions_.end(), (logical + 1) * alloc_unit_tokens_);
        drop_in(logical, track, std::span<const std::int32_t>(first, last));
        first = last;
      }
    }
  }
}

/// The member drops these positions of a shared block in a track.
void SharedBlocks::drop_in(Member& m, Shared& shared, std::int64_t track,
                           std::span<const std::int32_t> positions) {
  const std::size_t cells = m.track_units.size() * position(alloc_unit_tokens_);
  if (shared.dropped_by.empty()) shared.dropped_by.resize(cells, 0);
  Cells& own = m.dropped[shared.logical];
  if (own.empty()) own.resize(cells, false);
  add_surplus(shared, -1);
  const std::int64_t units = m.track_units[position(track)];
  for (const std::int32_t position : positions) {
    const std::size_t cell = cell_of(track, position);
    KVPLAN_CHECK(!own[cell], position, track);
    own[cell] = true;
    if (++shared.dropped_by[cell] == std::ssize(shared.holders)) shared.holes += units;
  }
  shared.dropped += units * std::ssize(positions);
  m.dropped_cells += units * std::ssize(positions);
  add_surplus(shared, 1);
}

void SharedBlocks::wrote(RequestId r, std::int64_t written) {
  Member& m = members_.at(r);
  const std::int64_t prompt = m.course->shape().prompt;
  const std::int64_t from = m.written + 1;
  m.written = written;
  if (m.shares == 0 || written < prompt) return;
  if (m.course->dropped_cells(written) == (from > prompt ? m.course->dropped_cells(from - 1) : 0)) return;
  each_drop(m, from, written, [&](std::int64_t logical, std::int64_t track, auto positions) {
    const auto found = shared_.find(m.table[position(logical)]);
    if (found != shared_.end()) drop_in(m, found->second, track, positions);
  });
}

/// Adds the earlier drops of a member in blocks that it has held alone until now.
void SharedBlocks::look_back(Member& m, const std::vector<std::int64_t>& logical_blocks) {
  if (m.written < m.course->shape().prompt || m.course->dropped_cells(m.written) == 0) return;
  const std::int64_t last = logical_blocks.back();  // they ascend
  std::vector<Shared*> blocks(position(last + 1), nullptr);
  for (const std::int64_t logical : logical_blocks)
    blocks[position(logical)] = &shared_.at(m.table[position(logical)]);
  each_drop(m, 0, m.written, [&](std::int64_t logical, std::int64_t track, auto positions) {
    if (logical <= last && blocks[position(logical)] != nullptr)
      drop_in(m, *blocks[position(logical)], track, positions);
  });
}

// ---- holders of blocks ----

/// Adds (+1) or removes (-1) the block's part of the surplus.
void SharedBlocks::add_surplus(const Shared& shared, std::int64_t sign) {
  const std::int64_t twice = (std::ssize(shared.holders) - 1) * block_cells();
  const std::int64_t holes = shared.dropped - shared.holes;
  surplus_.live += sign * (twice - holes);
  surplus_.hole += sign * holes;
}

void SharedBlocks::hold(RequestId r, std::int64_t logical, BlockId block) {
  KVPLAN_CHECK(index(block) < only_.size(), block);
  const RequestId first = only_[index(block)];
  if (first == kNoRequest) {  // it has been cached until now
    only_[index(block)] = r;
    return;
  }
  const auto [found, fresh] = shared_.try_emplace(block);
  Shared& shared = found->second;
  if (fresh) {
    Member& m = members_.at(first);
    KVPLAN_CHECK(position(logical) < m.table.size() && m.table[position(logical)] == block, block, first);
    ++m.shares;
    shared.logical = logical;
    shared.holders = {first};
    newly_shared_[first].push_back(logical);
  }
  KVPLAN_CHECK(shared.logical == logical, block, shared.logical);
  KVPLAN_CHECK(
      std::ranges::equal(members_.at(r).track_units, members_.at(shared.holders.front()).track_units), block,
      r);
  add_surplus(shared, -1);
  shared.holders.insert(std::ranges::upper_bound(shared.holders, r), r);
  ++members_.at(r).shares;
  shared.holes = 0;  // the new holder keeps everything
  add_surplus(shared, 1);
}

void SharedBlocks::give_back(RequestId r, BlockId block) {
  const auto found = shared_.find(block);
  if (found == shared_.end()) {
    KVPLAN_CHECK(only_[index(block)] == r, block, r);
    only_[index(block)] = kNoRequest;
    return;
  }
  Shared& shared = found->second;
  Member& m = members_.at(r);
  const auto units_of = [&](std::size_t cell) { return m.track_units[cell / position(alloc_unit_tokens_)]; };
  add_surplus(shared, -1);
  if (const auto own = m.dropped.find(shared.logical); own != m.dropped.end()) {
    for (std::size_t cell = 0; cell < own->second.size(); ++cell) {
      if (!own->second[cell]) continue;
      --shared.dropped_by[cell];
      shared.dropped -= units_of(cell);
      m.dropped_cells -= units_of(cell);
    }
    m.dropped.erase(own);
  }
  KVPLAN_CHECK(std::erase(shared.holders, r) == 1, block, r);
  --m.shares;
  only_[index(block)] = shared.holders.front();
  if (shared.holders.size() > 1) {
    shared.holes = 0;
    for (std::size_t cell = 0; cell < shared.dropped_by.size(); ++cell)
      if (shared.dropped_by[cell] == std::ssize(shared.holders)) shared.holes += units_of(cell);
    add_surplus(shared, 1);
    return;
  }
  Member& last = members_.at(shared.holders.front());
  last.dropped_cells -= shared.dropped;
  last.dropped.erase(shared.logical);
  --last.shares;
  shared_.erase(found);
}

void SharedBlocks::enter(RequestId r, const core::Course& course, std::span<const BlockId> found) {
  const auto [place, fresh] = members_.try_emplace(r);
  KVPLAN_CHECK(fresh && course.drops() != nullptr && course.shape().placement == core::Placement::kHoles, r);
  KVPLAN_CHECK(course.metadata_units() == 0, r);
  KVPLAN_CHECK(units_ == 0 || units_ == course.units(), r, units_, course.units());
  units_ = course.units();
  Member& m = place->second;
  m.course = &course;
  m.track_units = course.drops()->track_units();
  m.table.assign(found.begin(), found.end());
  m.written = std::ssize(found) * alloc_unit_tokens_;
  newly_shared_.clear();
  for (std::int64_t b = 0; b < std::ssize(found); ++b) hold(r, b, found[position(b)]);
  for (const auto& [first, logical_blocks] : newly_shared_) look_back(members_.at(first), logical_blocks);
}

void SharedBlocks::grant(RequestId r, std::span<const BlockId> blocks) {
  Member& m = members_.at(r);
  for (const BlockId block : blocks) {
    if (only_.size() <= index(block)) only_.resize(index(block) + 1, kNoRequest);
    KVPLAN_CHECK(only_[index(block)] == kNoRequest, block, r);
    only_[index(block)] = r;
    m.table.push_back(block);
  }
}

void SharedBlocks::free_entries(RequestId r, std::span<const std::int32_t> entries) {
  Member& m = members_.at(r);
  for (const std::int32_t entry : entries) give_back(r, std::exchange(m.table[position(entry)], kNoBlock));
}

void SharedBlocks::leave(RequestId r) {
  for (const BlockId block : members_.at(r).table)
    if (block != kNoBlock) give_back(r, block);
  members_.erase(r);
}

// ---- tables ----

std::vector<SharedBlocks::Row> SharedBlocks::rows() const {
  std::vector<Row> out;
  out.reserve(shared_.size());
  for (const auto& [block, shared] : shared_) {
    // While a holder still computes the block, no holder has dropped anything in it.
    std::int64_t written = alloc_unit_tokens_;
    for (const RequestId r : shared.holders)
      written = std::min(written, members_.at(r).written - shared.logical * alloc_unit_tokens_);
    written = std::max<std::int64_t>(written, 0);
    Row row{block, shared.holders, {}};
    row.cells.hole = shared.holes;
    row.cells.live = units_ * written - shared.holes;
    row.cells.reserved = units_ * (alloc_unit_tokens_ - written);
    out.push_back(std::move(row));
  }
  std::ranges::sort(out, {}, &Row::block);
  return out;
}

core::HeldCells SharedBlocks::shared_cells(RequestId r) const {
  const Member& m = members_.at(r);
  core::HeldCells sum;
  if (m.shares == 0) return sum;
  sum.hole = m.dropped_cells;
  for (std::int64_t b = 0; b < std::ssize(m.table); ++b) {
    if (!shared_.contains(m.table[position(b)])) continue;
    const std::int64_t written =
        std::clamp<std::int64_t>(m.written - b * alloc_unit_tokens_, 0, alloc_unit_tokens_);
    sum.live += units_ * written;
    sum.reserved += units_ * (alloc_unit_tokens_ - written);
  }
  sum.live -= m.dropped_cells;
  return sum;
}

}  // namespace kvplan::observe
