#include "simulator/memory/caching_pool_model.h"

#include <algorithm>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::memory {
namespace {

std::int64_t up(std::int64_t bytes, std::int64_t step) {
  return (bytes + step - 1) / step * step;
}

}  // namespace

// ---- what there is ----

std::int64_t CachingPoolModel::allocated_bytes() const {
  std::int64_t bytes = 0;
  for (const Segment& s : segments_)
    for (const Piece& p : s.pieces) bytes += p.used ? p.bytes : 0;
  return bytes;
}

std::int64_t CachingPoolModel::reserved_bytes() const {
  std::int64_t bytes = 0;
  for (const Segment& s : segments_)
    for (const Piece& p : s.pieces) bytes += p.mapped ? p.bytes : 0;
  return bytes;
}

std::vector<CachingBlock> CachingPoolModel::free_blocks() const {
  std::vector<CachingBlock> out;
  for (const Segment& s : segments_)
    for (const Piece& p : s.pieces)
      if (!p.used && p.mapped) out.push_back({p.address, p.bytes});
  return out;
}

/// Joins free neighbours of one segment that are both mapped or both unmapped.
void CachingPoolModel::join() {
  for (Segment& s : segments_) {
    std::vector<Piece> joined;
    for (const Piece& p : s.pieces) {
      if (!joined.empty() && !joined.back().used && !p.used && joined.back().mapped == p.mapped) {
        joined.back().bytes += p.bytes;
      } else {
        joined.push_back(p);
      }
    }
    s.pieces = joined;
  }
}

std::optional<CachingPoolModel::Place> CachingPoolModel::place_of(std::int64_t address) {
  for (std::size_t s = 0; s < segments_.size(); ++s)
    for (std::size_t p = 0; p < segments_[s].pieces.size(); ++p)
      if (segments_[s].pieces[p].address == address) return Place{s, p};
  return std::nullopt;
}

/// Free mapped pieces, smallest first; of equal ones the lowest address first.
std::vector<CachingPoolModel::Place> CachingPoolModel::free_by_size(bool small) {
  std::vector<Place> out;
  for (std::size_t s = 0; s < segments_.size(); ++s)
    for (std::size_t p = 0; p < segments_[s].pieces.size(); ++p)
      if (segments_[s].small == small && !at({s, p}).used && at({s, p}).mapped) out.push_back({s, p});
  std::stable_sort(out.begin(), out.end(), [&](Place a, Place b) { return at(a).bytes < at(b).bytes; });
  return out;
}

void CachingPoolModel::erase_segment(std::int64_t address) {
  std::erase_if(segments_, [&](const Segment& s) { return s.address == address; });
}

// ---- handing out and taking back ----

std::optional<CachingBlock> CachingPoolModel::allocate(std::int64_t bytes) {
  const auto block = allocate_wherever(bytes);
  next_segment_.reset();
  return block;
}

std::optional<CachingBlock> CachingPoolModel::allocate_wherever(std::int64_t bytes) {
  const std::int64_t size = caching_rounded(bytes, rules_.power2_divisions);
  const bool small = size <= kSmallBlock;
  if (rules_.garbage_threshold > 0) ++searches_[small ? 0 : 1];
  std::optional<Place> place = find(size, small);
  if (!place) {
    if (rules_.garbage_threshold > 0) collect_garbage();
    place = from_device(size, small);
  }
  if (!place && release_oversize(size, small)) place = from_device(size, small);
  if (!place) {
    empty_cache();
    place = from_device(size, small);
  }
  if (!place) return std::nullopt;
  Segment& segment = segments_[place->segment];
  const Piece found = at(*place);
  const std::int64_t rest = found.bytes - size;
  bool split = size < rules_.max_split_bytes && rest > kSmallBlock;
  if (small || rules_.expandable) split = rest >= kCachingUnit;
  if (!split) {
    at(*place).used = true;
    return CachingBlock{found.address, found.bytes};
  }
  at(*place) = {found.address, size, true, true};
  segment.pieces.insert(segment.pieces.begin() + static_cast<std::ptrdiff_t>(place->piece) + 1,
                        Piece{found.address + size, rest, false, true});
  return CachingBlock{found.address, size};
}

std::optional<std::vector<CachingBlock>> CachingPoolModel::allocate_all(std::span<const std::int64_t> sizes) {
  for (const bool emptied : {false, true}) {
    CachingPoolModel tried = *this;
    if (emptied) tried.empty_cache();
    std::vector<CachingBlock> blocks;
    for (const std::int64_t bytes : sizes)
      if (const auto block = tried.allocate(bytes)) blocks.push_back(*block);
    if (blocks.size() < sizes.size()) continue;
    *this = std::move(tried);
    return blocks;
  }
  return std::nullopt;
}

void CachingPoolModel::free(std::int64_t address) {
  const auto place = place_of(address);
  KVPLAN_CHECK(place && at(*place).used, address);
  at(*place).used = false;
  join();
  Segment& s = segments_[place->segment];
  if (s.whole()) s.idle_since = searches_[s.small ? 0 : 1];
}

std::optional<CachingPoolModel::Place> CachingPoolModel::find(std::int64_t size, bool small) {
  std::vector<Place> places = free_by_size(small);
  std::erase_if(places, [&](Place p) { return at(p).bytes < size; });
  if (places.empty()) return std::nullopt;
  std::size_t chosen = 0;
  const auto could_be = [&](Place p) {
    const auto& pieces = segments_[p.segment].pieces;
    const bool more = p.piece + 1 < pieces.size() && !pieces[p.piece + 1].mapped;
    return pieces[p.piece].bytes + (more ? pieces[p.piece + 1].bytes : 0);
  };
  if (rules_.expandable)
    while (chosen + 1 < places.size() && could_be(places[chosen + 1]) < could_be(places[chosen])) ++chosen;
  const std::int64_t bytes = at(places[chosen]).bytes;
  if (size < rules_.max_split_bytes && bytes >= rules_.max_split_bytes) return std::nullopt;
  if (size >= rules_.max_split_bytes && bytes >= size + 20 * kCachingMebibyte) return std::nullopt;
  return places[chosen];
}

// ---- the device ----

std::optional<CachingPoolModel::Place> CachingPoolModel::from_device(std::int64_t size, bool small) {
  const std::int64_t bytes = caching_segment(size);
  if ((!rules_.expandable || rules_.by_fraction) && reserved_bytes() + bytes > rules_.capacity_bytes)
    return std::nullopt;
  if (rules_.expandable) return expand(size, small);
  // The lowest address at which the range is free.
  for (std::int64_t address = 0; address + bytes <= 4 * rules_.capacity_bytes; address += kSmallSegment) {
    const bool taken = std::any_of(segments_.begin(), segments_.end(), [&](const Segment& s) {
      return s.address < address + bytes && address < s.address + s.bytes;
    });
    if (taken) continue;
    const std::int64_t place = next_segment_.value_or(address);
    const auto after =
        std::find_if(segments_.begin(), segments_.end(), [&](const Segment& s) { return s.address > place; });
    const auto at = segments_.insert(after, {place, bytes, small, {{place, bytes, false, true}}, 0});
    return Place{static_cast<std::size_t>(at - segments_.begin()), 0};
  }
  return std::nullopt;
}

std::optional<CachingPoolModel::Place> CachingPoolModel::expand(std::int64_t size, bool small) {
  for (const Segment& s : segments_) {
    if (s.small != small) continue;
    for (std::size_t p = 0; p < s.pieces.size(); ++p) {
      if (s.pieces[p].mapped) continue;
      std::size_t begin = p;
      if (p > 0 && !s.pieces[p - 1].used) --begin;
      std::int64_t room = 0;
      for (std::size_t q = begin; q < s.pieces.size() && !s.pieces[q].used; ++q) room += s.pieces[q].bytes;
      if (room >= size) return expand_at(s.pieces[begin].address, size);
    }
  }
  std::int64_t address = 0;
  for (const Segment& s : segments_) address = std::max(address, s.address + s.bytes);
  const std::int64_t device = rules_.device_bytes > 0 ? rules_.device_bytes : rules_.capacity_bytes;
  const std::int64_t length = up(device + device / 8, small ? kSmallSegment : kLargeSegment);
  if (size > length || address + length > 4 * device) return std::nullopt;
  segments_.push_back({address, length, small, {{address, length, false, false}}, 0});
  return expand_at(address, size);
}

/// Maps unmapped memory from `begin` on until the free piece there is large enough; mapped memory stays mapped.
std::optional<CachingPoolModel::Place> CachingPoolModel::expand_at(std::int64_t begin, std::int64_t size) {
  while (true) {
    const Place first = *place_of(begin);
    Segment& s = segments_[first.segment];
    const std::int64_t have = at(first).mapped ? at(first).bytes : 0;
    if (have >= size) return first;
    Place next = first;
    if (at(first).mapped) ++next.piece;
    const Piece unmapped = at(next);
    const std::int64_t bytes = up(std::min(size - have, unmapped.bytes), step(s));
    if (reserved_bytes() + bytes > rules_.capacity_bytes) return std::nullopt;
    at(next) = {unmapped.address, bytes, false, true};
    if (bytes < unmapped.bytes)
      s.pieces.insert(s.pieces.begin() + static_cast<std::ptrdiff_t>(next.piece) + 1,
                      Piece{unmapped.address + bytes, unmapped.bytes - bytes, false, false});
    join();
  }
}

void CachingPoolModel::empty_cache() {
  if (!rules_.expandable) {
    std::erase_if(segments_, [](const Segment& s) { return s.whole(); });
    return;
  }
  for (Segment& s : segments_) {
    std::vector<Piece> pieces;
    for (const Piece& p : s.pieces) {
      const std::int64_t from = s.address + up(p.address - s.address, step(s));
      const std::int64_t to = s.address + (p.address + p.bytes - s.address) / step(s) * step(s);
      if (p.used || !p.mapped || from >= to) {
        pieces.push_back(p);
        continue;
      }
      if (from > p.address) pieces.push_back({p.address, from - p.address, false, true});
      pieces.push_back({from, to - from, false, false});
      if (to < p.address + p.bytes) pieces.push_back({to, p.address + p.bytes - to, false, true});
    }
    s.pieces = pieces;
  }
  join();
}

bool CachingPoolModel::release_oversize(std::int64_t size, bool small) {
  if (rules_.max_split_bytes == INT64_MAX || rules_.expandable) return false;
  const std::int64_t wanted = std::max(size, rules_.max_split_bytes);
  for (const Place p : free_by_size(small)) {
    if (at(p).bytes < wanted) continue;
    if (!segments_[p.segment].whole()) return false;
    erase_segment(segments_[p.segment].address);
    return true;
  }
  std::int64_t released = 0;
  while (released < wanted) {
    const std::vector<Place> free = free_by_size(small);
    if (free.empty() || at(free.back()).bytes < rules_.max_split_bytes ||
        !segments_[free.back().segment].whole())
      break;
    released += at(free.back()).bytes;
    erase_segment(segments_[free.back().segment].address);
  }
  return released >= wanted;
}

void CachingPoolModel::collect_garbage() {
  if (rules_.expandable) return;
  const auto threshold =
      static_cast<std::int64_t>(rules_.garbage_threshold * static_cast<double>(rules_.capacity_bytes));
  const std::int64_t target = reserved_bytes() - threshold;
  std::int64_t reclaimed = 0;
  bool freed = target > 0;
  while (freed && reclaimed < target) {
    freed = false;
    std::vector<std::pair<std::int64_t, std::int64_t>>
        idle;  // (age, address) of large segments, smallest first
    std::int64_t ages = 0;
    for (const Place p : free_by_size(false)) {
      const Segment& s = segments_[p.segment];
      if (!s.whole()) continue;
      idle.emplace_back(searches_[1] - s.idle_since, s.address);
      ages += idle.back().first;
    }
    const double mean = idle.empty() ? 0 : static_cast<double>(ages) / static_cast<double>(idle.size());
    for (const auto& [age, address] : idle) {
      if (static_cast<double>(age) < mean) continue;
      freed = true;
      reclaimed += segments_[place_of(address)->segment].bytes;
      erase_segment(address);
    }
  }
}

}  // namespace kvplan::memory
