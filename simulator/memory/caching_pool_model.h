// A second implementation of the rules of caching_pool.h, written from their text to be read, not to be fast: it keeps
// lists of segments and pieces, and every search looks at all of them. Tests compare the fast pool with it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/memory/caching_pool.h"

namespace kvplan::memory {

class CachingPoolModel {
 public:
  explicit CachingPoolModel(const CachingRules& rules) : rules_(rules) {}

  std::optional<CachingBlock> allocate(std::int64_t bytes);
  void put_next_segment(std::int64_t address) { next_segment_ = address; }
  std::optional<std::vector<CachingBlock>> allocate_all(std::span<const std::int64_t> sizes);
  void free(std::int64_t address);
  void empty_cache();

  [[nodiscard]] std::int64_t allocated_bytes() const;
  [[nodiscard]] std::int64_t reserved_bytes() const;
  [[nodiscard]] std::vector<CachingBlock> free_blocks() const;

 private:
  struct Piece {
    std::int64_t address, bytes;
    bool used, mapped;
  };
  struct Segment {
    std::int64_t address, bytes;
    bool small;
    std::vector<Piece> pieces;
    std::int64_t idle_since;
    [[nodiscard]] bool whole() const { return pieces.size() == 1 && !pieces.front().used; }
  };
  struct Place {
    std::size_t segment, piece;
  };

  std::optional<CachingBlock> allocate_wherever(std::int64_t bytes);
  [[nodiscard]] std::int64_t step(const Segment& s) const { return s.small ? kSmallSegment : kLargeSegment; }
  Piece& at(Place p) { return segments_[p.segment].pieces[p.piece]; }
  void join();
  [[nodiscard]] std::vector<Place> free_by_size(bool small);
  [[nodiscard]] std::optional<Place> find(std::int64_t size, bool small);
  std::optional<Place> from_device(std::int64_t size, bool small);
  std::optional<Place> expand(std::int64_t size, bool small);
  std::optional<Place> expand_at(std::int64_t begin, std::int64_t size);
  bool release_oversize(std::int64_t size, bool small);
  void collect_garbage();
  void erase_segment(std::int64_t address);
  std::optional<Place> place_of(std::int64_t address);

  CachingRules rules_;
  std::vector<Segment> segments_;  // by address
  std::int64_t searches_[2]{0, 0};
  std::optional<std::int64_t> next_segment_;
};

}  // namespace kvplan::memory
