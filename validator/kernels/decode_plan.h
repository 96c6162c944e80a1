// How decode attention is divided into pieces, one thread block each. The rule is kvplan's own and recorded in every
// result (`splits`, `grid`, `waves`), so that the simulator can compute the same division before anything runs:
//
//   - Query heads of one KV head are taken together, at most 16 (the rows of one tensor-core tile); more heads are
//     further pieces over the same tokens.
//   - `places` = multiprocessors x blocks resident on each (by the variant; on a host, 4 per thread).
//   - For w = 1, 2, ... 8 waves: the smallest chunk, in tiles of 16 tokens and of at least 64 tokens, with which all
//     readers together have at most w * places pieces. The w with the smallest w' * (chunk + 96) is taken, where w' is
//     the actual number of waves; a piece costs about 96 tokens before it streams. Ties: the smallest w.
//   - A reader of T tokens has n = ceil(T / chunk) pieces, of ceil(T / n) tokens rounded up to a tile: about equal
//     ones.
//   - Longer pieces start first, equal ones in the order of readers: a GPU starts blocks in that order.
//
// `rule` of a case: 0 for the above, with the pipeline variant that was fastest on an H200 (2026-11-28); else
// 100 * variant + waves: that variant, with that w only (waves 0: the best w; 99: no splits).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "validator/kernels/decode_arguments.h"

namespace kvplan::validator {

inline constexpr std::int32_t kDecodeTile = 16;
inline constexpr std::int32_t kHeadsOfPiece = 16;
/// Number of pipeline variants of the CUDA kernel: cuda/decode_attention.cu.
inline constexpr std::int32_t kDecodeVariants = 4;
/// Thread blocks of each variant on one multiprocessor.
inline constexpr std::int32_t kDecodeBlocks[kDecodeVariants] = {2, 3, 1, 1};
/// Shared memory of such a block, with 128 channels.
inline constexpr std::int64_t kDecodeShared[kDecodeVariants] = {96 << 10, 64 << 10, 192 << 10, 192 << 10};
inline constexpr std::int32_t kMostSplits = 4096;

/// The variant for a case with rule 0. `shared_bytes`: shared memory limit of a thread block, 0 if there is none;
/// devices with less than 192 KiB use the variant that needs the least.
std::int32_t own_variant(Stored stored, std::int32_t head_size, std::int64_t shared_bytes);

struct DecodePlan {
  std::vector<DecodePiece> pieces;
  std::vector<CombineItem> combines;
  std::int32_t rows{0};    ///< number of rows of partial results
  std::int32_t splits{1};  ///< largest number of splits of a reader
  std::int32_t chunk{0};   ///< tokens
  std::int32_t waves{1};
  std::int32_t variant{0};
};

/// `waves`: 0, 99 or a number of waves. REQUIRES: `places` > 0.
DecodePlan plan_decode(std::span<const DecodeReader> readers, std::int32_t group, std::int64_t places,
                       std::int32_t waves);

}  // namespace kvplan::validator
