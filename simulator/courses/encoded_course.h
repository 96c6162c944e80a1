// Courses of requests with tokens in a format that encodes several tokens together (KIVI, GEAR, low rank, tiers by
// age). The bytes that a request stores then follow from lengths, not from a number of bytes per token. Pages cannot be
// counted in tokens: paging class PG5, "own page geometry, plus an unquantised tail".
//
// A cell is a byte. The units of a course are the bytes of an exact (not encoded) token (MemoryLayout::token_bytes); an
// allocation unit is a block of a number of exact tokens. While the prompt is computed its tokens are exact, token t in
// slot t. When it is complete, and after every later step, `stored` says what is stored:
//
//   coded, metadata   packed together, in blocks of their own
//   exact             in other blocks, with room for the next token
//
// Encoded bytes overwrite the tokens that they replace: a step needs room for its result, not for both. So a prompt is
// encoded in its own blocks. The blocks left over are freed at once (Course::compaction, without moves); if rounding
// needs one more block, it is granted with the next token. Room for what a step encodes is granted with the token that
// the step writes. The blocks of the exact tail are freed when its tokens are encoded. Prompt tokens that a token
// policy drops are dropped before the rest is encoded; if the policy goes on, each later token replaces a dropped
// token.
#pragma once

#include <memory>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::core {

/// Bytes that a request stores, over all layers of a rank.
struct StoredBytes {
  std::int64_t coded{0};  ///< codes and factors that stand for elements
  /// Scales, zero points, positions and codebooks of the coded part, and the policy's metadata of every token.
  std::int64_t metadata{0};
  std::int64_t exact{0};  ///< whole elements
  /// Not stored: cells of exact tokens that a token policy has dropped until now.
  std::int64_t dropped_cells{0};

  [[nodiscard]] std::int64_t total() const { return coded + metadata + exact; }
  friend bool operator==(const StoredBytes&, const StoredBytes&) = default;
};

struct EncodedTokens {
  std::int64_t token_bytes{1};  ///< bytes of an exact token
  /// part of token_bytes that is metadata from the moment the token is written: of a policy, or scales
  std::int64_t metadata_bytes{0};
  std::vector<StoredBytes> stored{};  ///< [i]: after prompt + i tokens, up to final_tokens - 1 tokens
};

/// Most blocks that such a request holds beyond the blocks of as many exact tokens: the partly filled block of codes.
inline constexpr std::int64_t kEncodedBlocksBeyond = 1;

/// REQUIRES: memory frees single allocation units; `stored` has final_tokens - prompt entries; the entry after n
/// tokens takes at most the bytes of n exact tokens.
std::unique_ptr<const Course> make_encoded_course(const CourseShape& shape, EncodedTokens tokens);

}  // namespace kvplan::core
