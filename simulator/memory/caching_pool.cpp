#include "simulator/memory/caching_pool.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "simulator/base/check.h"
#include "simulator/base/units.h"

namespace kvplan::memory {
namespace {

/// max_non_split_rounding_mb: by how much a block that is not split may be longer than requested.
constexpr std::int64_t kMostRounding = 20 * kCachingMebibyte;
constexpr std::int64_t kAddressSpaceFactor = 4;

std::int64_t rounded_up(std::int64_t bytes, std::int64_t step) {
  return (bytes + step - 1) / step * step;
}
std::int64_t rounded_down(std::int64_t bytes, std::int64_t step) {
  return bytes / step * step;
}

}  // namespace

std::int64_t caching_rounded(std::int64_t bytes, std::int64_t power2_divisions) {
  if (bytes < kCachingUnit) return kCachingUnit;
  if (power2_divisions <= 1 || bytes <= kCachingUnit * power2_divisions)
    return rounded_up(bytes, kCachingUnit);
  const auto unsigned_bytes = static_cast<std::uint64_t>(bytes);
  if (std::has_single_bit(unsigned_bytes)) return bytes;
  const int shift = std::countr_zero(std::bit_floor(static_cast<std::uint64_t>(power2_divisions)));
  const auto step = static_cast<std::int64_t>(std::bit_floor(unsigned_bytes) >> shift);
  return rounded_up(bytes, step);
}

std::int64_t caching_segment(std::int64_t rounded) {
  if (rounded <= kSmallBlock) return kSmallSegment;
  if (rounded < kOwnSegment) return kLargeSegment;
  return rounded_up(rounded, kSmallSegment);
}

// ---- books ----

void CachingPool::list(Blocks::iterator block) {
  Pool& pool = pools_[block->second.pool];
  if (block->second.mapped) {
    block->second.freed_at = pool.searches;
    pool.free.emplace(block->second.bytes, block->first);
  } else {
    pool.unmapped.insert(block->first);
  }
}

void CachingPool::unlist(Blocks::iterator block) {
  Pool& pool = pools_[block->second.pool];
  if (block->second.mapped) {
    pool.free.erase({block->second.bytes, block->first});
  } else {
    pool.unmapped.erase(block->first);
  }
}

/// Joins an unlisted block with its free neighbours that are mapped, or unmapped, like it; the result is not listed.
CachingPool::Blocks::iterator CachingPool::joined(Blocks::iterator block) {
  const auto alike = [&](Blocks::const_iterator other) {
    return !other->second.used && other->second.mapped == block->second.mapped;
  };
  if (!block->second.last) {
    const auto next = std::next(block);
    if (alike(next)) {
      unlist(next);
      block->second.bytes += next->second.bytes;
      block->second.last = next->second.last;
      blocks_.erase(next);
    }
  }
  if (!block->second.first) {
    const auto before = std::prev(block);
    if (alike(before)) {
      unlist(before);
      before->second.bytes += block->second.bytes;
      before->second.last = block->second.last;
      blocks_.erase(block);
      return before;
    }
  }
  return block;
}

/// Cuts an unlisted block after `bytes`; returns the rest, which is not listed.
CachingPool::Blocks::iterator CachingPool::cut(Blocks::iterator block, std::int64_t bytes) {
  Block rest = block->second;
  rest.bytes -= bytes;
  rest.first = false;
  block->second.bytes = bytes;
  block->second.last = false;
  return blocks_.emplace_hint(std::next(block), block->first + bytes, rest);
}

std::vector<CachingBlock> CachingPool::free_blocks() const {
  std::vector<CachingBlock> out;
  for (const auto& [address, block] : blocks_)
    if (!block.used && block.mapped) out.push_back({address, block.bytes});
  return out;
}

// ---- handing out and taking back ----

std::optional<CachingBlock> CachingPool::allocate(std::int64_t bytes) {
  const auto block = allocate_wherever(bytes);
  next_segment_.reset();
  return block;
}

std::optional<CachingBlock> CachingPool::allocate_wherever(std::int64_t bytes) {
  const std::int64_t size = caching_rounded(bytes, rules_.power2_divisions);
  const std::size_t pool = size <= kSmallBlock ? 0 : 1;
  auto block = take_free(size, pool);
  if (block == blocks_.end()) {
    if (rules_.garbage_threshold > 0) collect_garbage();
    block = new_memory(size, pool);
  }
  if (block == blocks_.end() && release_oversize(size, pool)) block = new_memory(size, pool);
  if (block == blocks_.end()) {
    empty_cache();
    block = new_memory(size, pool);
  }
  if (block == blocks_.end()) return std::nullopt;
  return hand_out(block, size);
}

/// Takes an unlisted block into use, and splits it if the rules say so.
CachingBlock CachingPool::hand_out(Blocks::iterator block, std::int64_t size) {
  const std::int64_t rest = block->second.bytes - size;
  const bool splits = block->second.pool == 0 || rules_.expandable
                          ? rest >= kCachingUnit
                          : size < rules_.max_split_bytes && rest > kSmallBlock;
  if (splits) list(cut(block, size));
  block->second.used = true;
  allocated_ += block->second.bytes;
  return CachingBlock{block->first, block->second.bytes};
}

bool CachingPool::allocate_each(std::span<const std::int64_t> sizes, std::vector<CachingBlock>& blocks) {
  blocks.clear();
  for (const std::int64_t bytes : sizes) {
    const auto block = allocate(bytes);
    if (!block) return false;
    blocks.push_back(*block);
  }
  return true;
}

/// As allocate_all, as long as no segment has to be released. False if one has to be; then nothing has changed.
/// REQUIRES: no expandable segments, no garbage collection.
bool CachingPool::allocate_at_hand(std::span<const std::int64_t> sizes, std::vector<CachingBlock>& blocks) {
  blocks.clear();
  std::vector<std::int64_t> made;  // segments made
  for (const std::int64_t bytes : sizes) {
    const std::int64_t size = caching_rounded(bytes, rules_.power2_divisions);
    const std::size_t pool = size <= kSmallBlock ? 0 : 1;
    auto block = take_free(size, pool);
    if (block == blocks_.end()) {
      block = new_memory(size, pool);
      if (block == blocks_.end()) {
        for (const CachingBlock& taken : blocks) free(taken.address);
        for (const std::int64_t address : made) release(blocks_.find(address));
        return false;
      }
      made.push_back(block->first);
    }
    blocks.push_back(hand_out(block, size));
  }
  return true;
}

/// True only if the pieces that are long enough have too little room in total, whatever is freed first.
bool CachingPool::hopeless(std::span<const std::int64_t> sizes) const {
  Wide wanted = 0;
  std::int64_t least = INT64_MAX;
  bool pools[2]{false, false};
  for (const std::int64_t bytes : sizes) {
    const std::int64_t size = caching_rounded(bytes, rules_.power2_divisions);
    wanted += size;
    least = std::min(least, size);
    pools[size <= kSmallBlock ? 0 : 1] = true;
  }
  Wide room = rules_.capacity_bytes - reserved_;
  if (wanted <= room) return false;
  for (const std::size_t pool : {std::size_t{0}, std::size_t{1}}) {
    for (const auto& [bytes, address] : pools_[pool].free) {
      const auto block = blocks_.find(address);
      const bool next_to_space = (!block->second.last && !std::next(block)->second.mapped) ||
                                 (!block->second.first && !std::prev(block)->second.mapped);
      const bool returns =
          rules_.expandable ? bytes >= chunk(pool) || next_to_space : whole_segment(block->second);
      if (returns || (pools[pool] && bytes >= least)) room += bytes;
    }
  }
  return wanted > room;
}

std::optional<std::vector<CachingBlock>> CachingPool::allocate_all(std::span<const std::int64_t> sizes) {
  if (hopeless(sizes)) return std::nullopt;
  std::vector<CachingBlock> blocks;
  if (!rules_.expandable && rules_.garbage_threshold <= 0 && allocate_at_hand(sizes, blocks)) return blocks;
  const CachingPool before = *this;
  if (allocate_each(sizes, blocks)) return blocks;
  *this = before;
  empty_cache();
  if (allocate_each(sizes, blocks)) return blocks;
  *this = before;
  return std::nullopt;
}

void CachingPool::free(std::int64_t address) {
  const auto block = blocks_.find(address);
  KVPLAN_CHECK(block != blocks_.end() && block->second.used, address);
  allocated_ -= block->second.bytes;
  block->second.used = false;
  list(joined(block));
}

/// The size to which a block of an expandable segment could grow.
std::int64_t CachingPool::could_be(Blocks::const_iterator block) const {
  if (block->second.last) return block->second.bytes;
  const auto next = std::next(block);
  return block->second.bytes + (next->second.mapped ? 0 : next->second.bytes);
}

/// Takes the smallest free block that is large enough off the list, the lowest of equal ones. end(): there is none.
CachingPool::Blocks::iterator CachingPool::take_free(std::int64_t size, std::size_t pool) {
  Pool& p = pools_[pool];
  if (rules_.garbage_threshold > 0) ++p.searches;
  auto found = p.free.lower_bound({size, INT64_MIN});
  if (found == p.free.end()) return blocks_.end();
  if (rules_.expandable) {
    for (auto next = std::next(found); next != p.free.end() && could_be(blocks_.find(next->second)) <
                                                                   could_be(blocks_.find(found->second));)
      found = next++;
  }
  const std::int64_t bytes = found->first;
  if (size < rules_.max_split_bytes ? bytes >= rules_.max_split_bytes : bytes >= size + kMostRounding)
    return blocks_.end();
  const auto block = blocks_.find(found->second);
  p.free.erase(found);
  return block;
}

// ---- memory of the device ----

/// A block of at least `size` from new memory of the device, not listed; end() if the device has too little.
CachingPool::Blocks::iterator CachingPool::new_memory(std::int64_t size, std::size_t pool) {
  return rules_.expandable ? grow_expandable(size, pool) : new_segment(caching_segment(size), pool);
}

CachingPool::Blocks::iterator CachingPool::new_segment(std::int64_t size, std::size_t pool) {
  if (size > rules_.capacity_bytes - reserved_) return blocks_.end();
  std::int64_t address = 0;
  for (const auto& [begin, bytes] : segments_) {
    if (begin - address >= size) break;
    address = begin + bytes;
  }
  if (address + size > kAddressSpaceFactor * rules_.capacity_bytes) return blocks_.end();
  if (next_segment_) address = *next_segment_;
  segments_.emplace(address, size);
  reserved_ += size;
  return blocks_
      .emplace(address, Block{.bytes = size,
                              .used = false,
                              .mapped = true,
                              .first = true,
                              .last = true,
                              .pool = static_cast<std::int8_t>(pool),
                              .freed_at = 0})
      .first;
}

/// Maps the first `bytes` of an unmapped block, rounded up to chunks, joins them with their free neighbours, and
/// lists the result. end(): the device has too little memory.
CachingPool::Blocks::iterator CachingPool::map_memory(Blocks::iterator block, std::int64_t bytes) {
  const std::int64_t mapped = rounded_up(bytes, chunk(static_cast<std::size_t>(block->second.pool)));
  if (mapped > rules_.capacity_bytes - reserved_) return blocks_.end();
  reserved_ += mapped;
  unlist(block);
  if (mapped < block->second.bytes) list(cut(block, mapped));
  block->second.mapped = true;
  block = joined(block);
  list(block);
  return block;
}

/// The first free block, or unmapped space, of `size` consecutive free or unmapped bytes: the one around the lowest
/// unmapped space for which that holds. A new address range if there is none; end() if there is no room for one.
CachingPool::Blocks::iterator CachingPool::find_expandable(std::int64_t size, std::size_t pool) {
  for (const std::int64_t address : pools_[pool].unmapped) {
    auto begin = blocks_.find(address);
    if (!begin->second.first && !std::prev(begin)->second.used) begin = std::prev(begin);
    std::int64_t room = 0;
    for (auto b = begin; !b->second.used; ++b) {
      room += b->second.bytes;
      if (room >= size || b->second.last) break;
    }
    if (room >= size) return begin;
  }
  const std::int64_t length = rounded_up(device_bytes() + device_bytes() / 8, chunk(pool));
  const std::int64_t address = segments_.empty() ? 0 : segments_.rbegin()->first + segments_.rbegin()->second;
  if (address + length > kAddressSpaceFactor * device_bytes()) return blocks_.end();
  segments_.emplace(address, length);
  const auto block = blocks_
                         .emplace(address, Block{.bytes = length,
                                                 .used = false,
                                                 .mapped = false,
                                                 .first = true,
                                                 .last = true,
                                                 .pool = static_cast<std::int8_t>(pool),
                                                 .freed_at = 0})
                         .first;
  list(block);
  return block;
}

CachingPool::Blocks::iterator CachingPool::grow_expandable(std::int64_t size, std::size_t pool) {
  if (size > rules_.capacity_bytes) return blocks_.end();
  if (rules_.by_fraction && caching_segment(size) > rules_.capacity_bytes - reserved_) return blocks_.end();
  auto block = find_expandable(size, pool);
  if (block != blocks_.end() && !block->second.mapped)
    block = map_memory(block, std::min(block->second.bytes, size));
  while (block != blocks_.end() && block->second.bytes < size) {
    const auto next = std::next(block);  // unmapped: free neighbours are joined
    block = map_memory(next, std::min(size - block->second.bytes, next->second.bytes));
  }
  if (block != blocks_.end()) unlist(block);
  return block;
}

/// Returns the whole chunks of a free block to the device.
void CachingPool::unmap_chunks(std::int64_t address) {
  auto block = blocks_.find(address);
  const std::int64_t step = chunk(static_cast<std::size_t>(block->second.pool));
  // Ranges begin at multiples of the chunk, see find_expandable.
  const std::int64_t base = std::prev(segments_.upper_bound(address))->first;
  const std::int64_t begin = base + rounded_up(address - base, step);
  const std::int64_t end = base + rounded_down(address + block->second.bytes - base, step);
  if (begin >= end) return;
  unlist(block);
  if (begin > address) {
    const auto rest = cut(block, begin - address);
    list(block);
    block = rest;
  }
  if (end < block->first + block->second.bytes) list(cut(block, end - begin));
  block->second.mapped = false;
  reserved_ -= end - begin;
  list(joined(block));
}

void CachingPool::release(Blocks::iterator block) {
  KVPLAN_CHECK(whole_segment(block->second) && !block->second.used, block->first);
  unlist(block);
  reserved_ -= block->second.bytes;
  segments_.erase(block->first);
  blocks_.erase(block);
}

/// With max_split_size: releases the smallest free block that is large enough and may not be split, or as many of the
/// largest as needed. False: that was impossible, or not enough.
bool CachingPool::release_oversize(std::int64_t size, std::size_t pool) {
  if (rules_.max_split_bytes == INT64_MAX || rules_.expandable) return false;
  auto& free = pools_[pool].free;
  const std::int64_t wanted = std::max(size, rules_.max_split_bytes);
  const auto found = free.lower_bound({wanted, INT64_MIN});
  if (found != free.end()) {
    const auto block = blocks_.find(found->second);
    if (!whole_segment(block->second)) return false;
    release(block);
    return true;
  }
  std::int64_t released = 0;
  while (released < wanted && !free.empty() && free.rbegin()->first >= rules_.max_split_bytes) {
    const auto block = blocks_.find(free.rbegin()->second);
    if (!whole_segment(block->second)) break;
    released += block->second.bytes;
    release(block);
  }
  return released >= wanted;
}

void CachingPool::empty_cache() {
  for (const std::size_t pool : {std::size_t{1}, std::size_t{0}}) {
    std::vector<std::int64_t> addresses;
    for (const auto& [bytes, address] : pools_[pool].free) addresses.push_back(address);
    for (const std::int64_t address : addresses) {
      if (rules_.expandable) {
        unmap_chunks(address);
      } else if (const auto block = blocks_.find(address); whole_segment(block->second)) {
        release(block);
      }
    }
  }
}

/// Releases large segments without a block in use, first those that have been unused for longer than the mean, until
/// the reserved memory is at the threshold.
void CachingPool::collect_garbage() {
  if (rules_.expandable) return;
  const auto threshold =
      static_cast<std::int64_t>(rules_.garbage_threshold * static_cast<double>(rules_.capacity_bytes));
  if (reserved_ <= threshold) return;
  const std::int64_t target = reserved_ - threshold;
  Pool& large = pools_[1];
  std::int64_t age = 0;
  std::int64_t count = 0;
  const auto age_of = [&](const Block& b) { return large.searches - b.freed_at; };
  for (const auto& [bytes, address] : large.free) {
    const Block& block = blocks_.find(address)->second;
    if (!whole_segment(block)) continue;
    age += age_of(block);
    ++count;
  }
  std::int64_t reclaimed = 0;
  bool freed = true;
  while (reclaimed < target && freed && count > 0) {
    const double old = static_cast<double>(age) / static_cast<double>(count);
    freed = false;
    for (auto it = large.free.begin(); it != large.free.end();) {
      const auto block = blocks_.find((it++)->second);
      if (!whole_segment(block->second) || static_cast<double>(age_of(block->second)) < old) continue;
      freed = true;
      reclaimed += block->second.bytes;
      age -= age_of(block->second);
      --count;
      release(block);
    }
  }
}

}  // namespace kvplan::memory
