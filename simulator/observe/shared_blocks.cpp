#include "simulator/observe/shared_blocks.h"

#include <algorithm>
#include <utility>

namespace kvplan::observe {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

// ---- what a member has dropped ----

bool SharedBlocks::has_dropped(const Member& m) const {
  return m.written >= m.course->shape().prompt && m.course->dropped_cells(m.written) > 0;
}

/// Others find only what was there when the first cell went: later positions do not matter.
const SharedBlocks::Going& SharedBlocks::going(Member& m) const {
  if (m.going != nullptr) return *m.going;
  const core::CourseShape& shape = m.course->shape();
  const core::Drops& drops = *m.course->drops();
  auto made = std::make_shared<Going>();
  std::int64_t first = shape.prompt;
  while (first < shape.final_tokens && m.course->dropped_cells(first) == 0) ++first;
  made->positions = first;
  const auto tracks = static_cast<std::int32_t>(drops.track_units().size());
  made->after.assign(at(tracks * first), INT32_MAX);
  std::vector<std::int32_t> positions;
  for (std::int64_t n = first; n < shape.final_tokens; ++n) {
    for (std::int32_t track = 0; track < tracks; ++track) {
      positions.clear();
      drops.dropped(track, n, positions);
      for (const std::int32_t p : positions)
        if (p < first) made->after[at(track * first + p)] = static_cast<std::int32_t>(n);
    }
  }
  m.going = std::move(made);
  return *m.going;
}

std::int64_t SharedBlocks::dropped_of(Member& m, std::int64_t logical) const {
  if (!has_dropped(m)) return 0;
  const Going& gone = going(m);
  const auto units = m.course->drops()->track_units();
  std::int64_t cells = 0;
  for (std::int64_t track = 0; track < std::ssize(units); ++track)
    for (std::int64_t p = logical * quantum_tokens_; p < (logical + 1) * quantum_tokens_; ++p)
      if (gone.gone(track, p, m.written)) cells += units[at(track)];
  return cells;
}

bool SharedBlocks::gather_going(const Shared& shared) {
  going_.clear();
  for (const RequestId r : shared.holders) {
    Member& m = member(r);
    if (!has_dropped(m)) return false;
    going_.emplace_back(&going(m), m.written);
  }
  return true;
}

bool SharedBlocks::all_dropped(std::int64_t track, std::int64_t position) const {
  return std::ranges::all_of(
      going_, [&](const auto& holder) { return holder.first->gone(track, position, holder.second); });
}

std::int64_t SharedBlocks::holes_of(const Shared& shared) {
  if (!gather_going(shared)) return 0;
  const auto units = member(shared.holders.front()).course->drops()->track_units();
  std::int64_t cells = 0;
  for (std::int64_t track = 0; track < std::ssize(units); ++track)
    for (std::int64_t p = shared.logical * quantum_tokens_; p < (shared.logical + 1) * quantum_tokens_; ++p)
      if (all_dropped(track, p)) cells += units[at(track)];
  return cells;
}

// ---- who holds what ----

/// What the block adds to the surplus comes (+1) or goes (-1).
void SharedBlocks::add(const Shared& shared, std::int64_t sign) {
  const std::int64_t twice = (std::ssize(shared.holders) - 1) * block_cells(member(shared.holders.front()));
  const std::int64_t holes = shared.dropped - shared.holes;
  surplus_.live += sign * (twice - holes);
  surplus_.hole += sign * holes;
}

void SharedBlocks::hold(RequestId r, std::int64_t logical, BlockId block) {
  KVPLAN_CHECK(index(block) < only_.size(), block);
  const RequestId first = only_[index(block)];
  if (first == kNoRequest) {  // cached until now
    only_[index(block)] = r;
    return;
  }
  const auto [found, fresh] = shared_.try_emplace(block);
  Shared& shared = found->second;
  if (fresh) {
    Member& m = member(first);
    KVPLAN_CHECK(at(logical) < m.table.size() && m.table[at(logical)] == block, block, first);
    shared.logical = logical;
    shared.holders = {first};
    ++m.shares;
    shared.dropped = dropped_of(m, logical);
  } else {
    KVPLAN_CHECK(shared.logical == logical, block, shared.logical);
    add(shared, -1);
  }
  shared.holders.push_back(r);
  ++member(r).shares;
  shared.holes = 0;  // the new holder keeps everything
  add(shared, 1);
}

void SharedBlocks::give_back(RequestId r, BlockId block) {
  const auto found = shared_.find(block);
  if (found == shared_.end()) {
    KVPLAN_CHECK(only_[index(block)] == r, block, r);
    only_[index(block)] = kNoRequest;
    return;
  }
  Shared& shared = found->second;
  add(shared, -1);
  shared.dropped -= dropped_of(member(r), shared.logical);
  KVPLAN_CHECK(std::erase(shared.holders, r) == 1, block, r);
  --member(r).shares;
  only_[index(block)] = shared.holders.front();
  if (shared.holders.size() == 1) {
    --member(shared.holders.front()).shares;
    shared_.erase(found);
    return;
  }
  shared.holes = holes_of(shared);
  add(shared, 1);
}

void SharedBlocks::enter(RequestId r, const core::Course& course, std::span<const BlockId> found) {
  const auto [place, fresh] = members_.try_emplace(r);
  KVPLAN_CHECK(fresh && course.drops() != nullptr && course.shape().placement == core::Placement::kHoles, r);
  Member& m = place->second;
  m.course = &course;
  m.table.assign(found.begin(), found.end());
  m.written = std::ssize(found) * quantum_tokens_;
  for (std::int64_t b = 0; b < std::ssize(found); ++b) hold(r, b, found[at(b)]);
}

void SharedBlocks::grant(RequestId r, std::span<const BlockId> blocks) {
  Member& m = member(r);
  for (const BlockId block : blocks) {
    if (only_.size() <= index(block)) only_.resize(index(block) + 1, kNoRequest);
    KVPLAN_CHECK(only_[index(block)] == kNoRequest, block, r);
    only_[index(block)] = r;
    m.table.push_back(block);
  }
}

void SharedBlocks::wrote(RequestId r, std::int64_t written) {
  Member& m = member(r);
  const std::int64_t prompt = m.course->shape().prompt;
  const std::int64_t from = std::max(m.written + 1, prompt);
  const std::int64_t dropped_before = from > prompt ? m.course->dropped_cells(from - 1) : 0;
  if (m.shares == 0 || written < prompt || m.course->dropped_cells(written) == dropped_before) {
    m.written = written;
    return;
  }
  const core::Drops& drops = *m.course->drops();
  for (std::int64_t n = from; n <= written; ++n) {
    m.written = n;
    for (std::int32_t track = 0; track < std::ssize(drops.track_units()); ++track) {
      positions_.clear();
      drops.dropped(track, n, positions_);
      for (auto first = positions_.begin(); first != positions_.end();) {
        const std::int64_t end = (*first / quantum_tokens_ + 1) * quantum_tokens_;
        const auto last = std::lower_bound(first, positions_.end(), end);
        drop_of_block(m.table[at(*first / quantum_tokens_)], track, {first, last});
        first = last;
      }
    }
  }
  m.written = written;
}

/// One of its holders drops these positions of it in a track.
void SharedBlocks::drop_of_block(BlockId block, std::int32_t track, std::span<const std::int32_t> positions) {
  const auto found = shared_.find(block);
  if (found == shared_.end()) return;
  Shared& shared = found->second;
  const std::int64_t units = member(shared.holders.front()).course->drops()->track_units()[at(track)];
  add(shared, -1);
  shared.dropped += units * std::ssize(positions);
  if (gather_going(shared))
    for (const std::int32_t p : positions)
      if (all_dropped(track, p)) shared.holes += units;
  add(shared, 1);
}

void SharedBlocks::let_go(RequestId r, std::span<const std::int32_t> entries) {
  Member& m = member(r);
  for (const std::int32_t entry : entries) give_back(r, std::exchange(m.table[at(entry)], kNoBlock));
}

void SharedBlocks::leave(RequestId r) {
  for (const BlockId block : member(r).table)
    if (block != kNoBlock) give_back(r, block);
  members_.erase(r);
}

// ---- tables ----

std::vector<SharedBlocks::Row> SharedBlocks::rows() const {
  std::vector<Row> out;
  for (const auto& [block, shared] : shared_) {
    // Where one of its holders still computes it, nobody has dropped anything of it.
    std::int64_t written = quantum_tokens_;
    for (const RequestId r : shared.holders)
      written = std::min(written, written_in(members_.at(r), shared.logical));
    const std::int64_t units = members_.at(shared.holders.front()).course->units();
    Row row{block, shared.holders, {}};
    row.cells.hole = shared.holes;
    row.cells.live = units * written - shared.holes;
    row.cells.reserved = units * (quantum_tokens_ - written);
    std::ranges::sort(row.holders);
    out.push_back(std::move(row));
  }
  return out;
}

SharedBlocks::Part SharedBlocks::shared_part(RequestId r) const {
  Part part;
  Member m = members_.at(r);
  for (std::int64_t b = 0; b < std::ssize(m.table); ++b) {
    if (!shared_.contains(m.table[at(b)])) continue;
    const std::int64_t dropped = dropped_of(m, b);
    const std::int64_t written = m.course->units() * written_in(m, b);
    part.cells.hole += dropped;
    part.cells.live += written - dropped;
    part.cells.reserved += block_cells(m) - written;
    ++part.blocks;
  }
  return part;
}

}  // namespace kvplan::observe
