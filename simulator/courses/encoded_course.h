// Courses of requests whose tokens are stored in a format that looks at more than one of them (KIVI, GEAR, low rank,
// tiers by age): how many bytes all that a request stores takes follows from lengths, not from a width of each token.
// A page cannot be counted in tokens then: paging class PG5, "own page geometry, plus an unquantised tail".
//
// A cell is a byte; the units of a course are the bytes of a token that is exact (MemoryLayout::token_bytes), an
// allocation unit is a block of so many exact tokens. While the prompt is in work its tokens are exact, token t in
// slot t. When it is whole, and after every later step, what is stored is what `stored` says:
//
//   coded, metadata   packed together, in blocks of their own
//   exact             in other blocks, with room for the token that comes next
//
// What is encoded is written over what it replaces: a step needs room for what it leaves, not for both. So a prompt is
// encoded in its own blocks; those that are left over come back at once (Course::compaction, from which nothing moves),
// and where rounding asks for a block more it is granted with the next token. What a step encodes itself is granted
// with the token that it writes. The tail's blocks come back when its tokens are encoded. What a token policy drops of
// the prompt goes before what stays is encoded; where it goes on, each later token takes the place of one that goes.
#pragma once

#include <memory>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::core {

/// Bytes of what a request stores, all layers of a rank.
struct StoredBytes {
  std::int64_t coded{0};  ///< what stands for elements: codes, factors
  /// Scales, zero points, places, codebooks, beside the former; and of every token what a policy keeps of it.
  std::int64_t metadata{0};
  std::int64_t exact{0};  ///< whole elements
  /// Not among the bytes that are stored: cells of exact tokens that a token policy has dropped so far.
  std::int64_t dropped_cells{0};

  [[nodiscard]] std::int64_t total() const { return coded + metadata + exact; }
  friend bool operator==(const StoredBytes&, const StoredBytes&) = default;
};

struct EncodedTokens {
  std::int64_t token_bytes{1};  ///< of an exact token
  /// Of these, what is metadata as soon as it is written: a policy's, scales
  std::int64_t metadata_bytes{0};
  std::vector<StoredBytes> stored{};  ///< [i]: after prompt + i tokens; up to those after final_tokens - 1
};

/// Blocks that such a request holds beyond those of as many exact tokens, at most: what is left of a block of codes.
inline constexpr std::int64_t kEncodedBlocksBeyond = 1;

/// REQUIRES: memory returns allocation units; `stored` has final_tokens - prompt entries, of which that after n
/// tokens takes at most the bytes of n exact ones.
std::unique_ptr<const Course> make_encoded_course(const CourseShape& shape, EncodedTokens tokens);

}  // namespace kvplan::core
