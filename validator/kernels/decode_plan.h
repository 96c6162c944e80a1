// How decode attention is cut into pieces, one block of threads each. The rule is ours and recorded in every result
// (`splits`, `grid`, `waves`), so that the simulator can say the same before anything runs:
//
//   - Query heads of one KV head are taken together, at most 16 (one tile of the tensor cores' rows); more are further
//     pieces over the same tokens.
//   - `places` = multiprocessors x blocks that are resident on one (by the variant; 4 on each thread of a host).
//   - For w = 1, 2, ... 8 waves: the least chunk, in tiles of 16 tokens and of at least 64 tokens, with which all
//     readers give at most w * places pieces. The w with the least w' * (chunk + 96) is taken, where w' are the waves
//     that really come out; a piece costs about 96 tokens before it streams. The least w of equals.
//   - A reader of T tokens has n = ceil(T / chunk) pieces, of ceil(T / n) tokens rounded up to a tile: about equal
//     ones.
//   - Longer pieces begin first, equal ones in the order of readers: the blocks of a GPU are started in that order.
//
// `rule` of a case: 0 for the above with the variant of the pipeline that was the fastest on an H200 (2026-11-28); else
// 100 * variant + waves: that variant, and that w alone (waves 0: the best of them; 99: no splits).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "validator/kernels/decode_arguments.h"

namespace kvplan::validator {

inline constexpr std::int32_t kDecodeTile = 16;
inline constexpr std::int32_t kHeadsOfPiece = 16;
/// Pipelines of the CUDA kernel that are built, by their number: cuda/decode_attention.cu.
inline constexpr std::int32_t kDecodeVariants = 4;
/// Blocks of threads of each on one multiprocessor.
inline constexpr std::int32_t kDecodeBlocks[kDecodeVariants] = {2, 3, 1, 1};
inline constexpr std::int32_t kMostSplits = 4096;

/// Of a case that says nothing else.
std::int32_t own_variant(Stored stored, std::int32_t head_size);

struct DecodePlan {
  std::vector<DecodePiece> pieces;
  std::vector<CombineItem> combines;
  std::int32_t rows{0};    ///< of partial results
  std::int32_t splits{1};  ///< the most that a reader has
  std::int32_t chunk{0};   ///< tokens
  std::int32_t waves{1};
  std::int32_t variant{0};
};

/// `waves`: 0, 99 or one. REQUIRES: `places` > 0.
DecodePlan plan_decode(std::span<const DecodeReader> readers, std::int32_t group, std::int64_t places,
                       std::int32_t waves);

}  // namespace kvplan::validator
