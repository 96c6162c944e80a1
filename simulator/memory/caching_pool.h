// The rules of PyTorch's caching allocator for one stream (pytorch/pytorch, c10/cuda/CUDACachingAllocator.cpp and
// c10/core/AllocatorConfig.h; simulator/docs/byte_allocators.md restates them with the constants). Device memory
// is taken in segments and cut into blocks; freed blocks are kept and handed out again.
//
// The driver chooses the address of a segment, which kvplan cannot know. This pool takes the lowest free range of 2 MiB
// steps in an address space of four times the capacity. Physical memory may lie anywhere, so addresses only decide
// between equal blocks. With the addresses of a recorded sequence all counts equal those on the device
// (tests/golden/caching).
//
// A value type: a copy is the same pool at the same moment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace kvplan::memory {

struct CachingRules {
  std::int64_t capacity_bytes{0};  ///< what the device offers, or what a memory fraction allows
  /// All memory of the device: an expandable segment reserves 1 1/8 of it as addresses. 0 (as in runs): the
  /// capacity.
  std::int64_t device_bytes{0};
  /// The capacity comes from a memory fraction (in recordings, never in runs): an expandable segment then grows
  /// only where a whole segment would fit too.
  bool by_fraction{false};
  bool expandable{false};  ///< expandable_segments
  std::int64_t max_split_bytes{INT64_MAX};
  std::int64_t power2_divisions{0};  ///< roundup_power2_divisions, for all sizes; 0 and 1: off
  double garbage_threshold{0};       ///< garbage_collection_threshold, a share of the capacity; 0: off
};

inline constexpr std::int64_t kCachingUnit = 512;  ///< every block is a multiple of this
inline constexpr std::int64_t kCachingMebibyte = std::int64_t{1} << 20;
inline constexpr std::int64_t kSmallBlock = kCachingMebibyte;  ///< largest block of the small pool
inline constexpr std::int64_t kSmallSegment =
    2 * kCachingMebibyte;  ///< segment of the small pool; also the step of addresses
/// Segment for large blocks below kOwnSegment
inline constexpr std::int64_t kLargeSegment = 20 * kCachingMebibyte;
inline constexpr std::int64_t kOwnSegment =
    10 * kCachingMebibyte;  ///< from this size on, the segment is as long as the block

/// The size that a request for `bytes` is rounded to. REQUIRES: 1 <= bytes <= 2^60.
[[nodiscard]] std::int64_t caching_rounded(std::int64_t bytes, std::int64_t power2_divisions);
/// Size of the segment that is allocated when no free block serves a rounded size (without expandable segments).
[[nodiscard]] std::int64_t caching_segment(std::int64_t rounded);

/// A block in use.
struct CachingBlock {
  std::int64_t address{0};
  std::int64_t bytes{0};  ///< at least the requested bytes; nothing else can use the rest
  friend bool operator==(const CachingBlock&, const CachingBlock&) = default;
};

class CachingPool {
 public:
  explicit CachingPool(const CachingRules& rules) : rules_(rules) {}

  /// Allocates a block. Absent: out of memory after every measure was tried; their effects remain (cached segments went
  /// back to the device).
  std::optional<CachingBlock> allocate(std::int64_t bytes);
  /// Sets the address of the next segment, if the next `allocate` takes one (not for expandable segments). For
  /// sequences recorded with their addresses. REQUIRES: nothing lies there.
  void put_next_segment(std::int64_t address) { next_segment_ = address; }
  /// Allocates a block for each size, in this order; absent: not possible, and nothing has changed. An attempt that
  /// runs out of memory is undone and repeated once after empty_cache(), so a pool without blocks in use can give as
  /// much as a new one.
  std::optional<std::vector<CachingBlock>> allocate_all(std::span<const std::int64_t> sizes);
  /// Frees a block. REQUIRES: a block in use has this address.
  void free(std::int64_t address);
  /// torch.cuda.empty_cache(): frees every segment without a block in use, and every empty chunk of expandable
  /// ones.
  void empty_cache();

  /// Bytes of blocks in use.
  [[nodiscard]] std::int64_t allocated_bytes() const { return allocated_; }
  /// Bytes taken from the device.
  [[nodiscard]] std::int64_t reserved_bytes() const { return reserved_; }
  /// Free blocks, without unmapped address space.
  [[nodiscard]] std::vector<CachingBlock> free_blocks() const;

 private:
  struct Block {
    std::int64_t bytes;
    bool used;
    bool mapped;  ///< false: address space of an expandable segment without memory
    bool first;   ///< first block of its segment
    bool last;
    std::int8_t pool;       ///< 0: small, 1: large
    std::int64_t freed_at;  ///< number of searches of the pool when it was freed
  };
  using Blocks = std::map<std::int64_t, Block>;  // by address
  struct Pool {
    std::set<std::pair<std::int64_t, std::int64_t>> free;  // (bytes, address)
    std::set<std::int64_t> unmapped;                       // addresses
    std::int64_t searches{0};                              // counted only with garbage collection
  };

  [[nodiscard]] std::int64_t device_bytes() const {
    return rules_.device_bytes > 0 ? rules_.device_bytes : rules_.capacity_bytes;
  }
  [[nodiscard]] std::int64_t chunk(std::size_t pool) const {
    return pool == 0 ? kSmallSegment : kLargeSegment;
  }
  [[nodiscard]] bool whole_segment(const Block& b) const { return b.first && b.last; }
  std::optional<CachingBlock> allocate_wherever(std::int64_t bytes);
  CachingBlock hand_out(Blocks::iterator block, std::int64_t size);
  bool allocate_each(std::span<const std::int64_t> sizes, std::vector<CachingBlock>& blocks);
  bool allocate_at_hand(std::span<const std::int64_t> sizes, std::vector<CachingBlock>& blocks);
  [[nodiscard]] bool hopeless(std::span<const std::int64_t> sizes) const;
  void list(Blocks::iterator block);
  void unlist(Blocks::iterator block);
  Blocks::iterator joined(Blocks::iterator block);
  Blocks::iterator cut(Blocks::iterator block, std::int64_t bytes);
  [[nodiscard]] std::int64_t could_be(Blocks::const_iterator block) const;
  Blocks::iterator take_free(std::int64_t size, std::size_t pool);
  Blocks::iterator new_memory(std::int64_t size, std::size_t pool);
  Blocks::iterator new_segment(std::int64_t size, std::size_t pool);
  Blocks::iterator map_memory(Blocks::iterator block, std::int64_t bytes);
  Blocks::iterator find_expandable(std::int64_t size, std::size_t pool);
  Blocks::iterator grow_expandable(std::int64_t size, std::size_t pool);
  void unmap_chunks(std::int64_t address);
  void release(Blocks::iterator block);
  bool release_oversize(std::int64_t size, std::size_t pool);
  void collect_garbage();

  CachingRules rules_;
  Blocks blocks_;
  std::map<std::int64_t, std::int64_t> segments_;  // address -> bytes of address space
  Pool pools_[2];
  std::int64_t allocated_{0};
  std::int64_t reserved_{0};
  std::optional<std::int64_t> next_segment_;
};

}  // namespace kvplan::memory
