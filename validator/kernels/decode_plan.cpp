#include "validator/kernels/decode_plan.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::validator {
namespace {

constexpr std::int64_t kLeastChunk = 64;
constexpr std::int64_t kStartTokens = 96;
constexpr std::int64_t kMostWaves = 8;
constexpr std::int32_t kNoSplits = 99;

std::int64_t ceiling(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
std::int64_t whole_tiles(std::int64_t tokens) {
  return ceiling(tokens, kDecodeTile) * kDecodeTile;
}

std::int64_t pieces_with(std::span<const DecodeReader> readers, std::int64_t parts, std::int64_t chunk) {
  std::int64_t pieces = 0;
  for (const DecodeReader& reader : readers)
    pieces += std::max<std::int64_t>(1, ceiling(reader.tokens, chunk)) * parts;
  return pieces;
}

/// The least chunk with at most so many pieces; the longest reader where no chunk has so few.
std::int64_t chunk_for(std::span<const DecodeReader> readers, std::int64_t parts, std::int64_t longest,
                       std::int64_t most_pieces) {
  std::int64_t low = kLeastChunk / kDecodeTile, high = std::max(low, ceiling(longest, kDecodeTile));
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (pieces_with(readers, parts, middle * kDecodeTile) <= most_pieces)
      high = middle;
    else
      low = middle + 1;
  }
  return low * kDecodeTile;
}

std::int64_t choose_chunk(std::span<const DecodeReader> readers, std::int64_t parts, std::int64_t longest,
                          std::int64_t places, std::int32_t waves) {
  if (waves == kNoSplits) return std::max<std::int64_t>(whole_tiles(longest), kLeastChunk);
  if (waves != 0) return chunk_for(readers, parts, longest, waves * places);
  std::int64_t best = 0, best_cost = INT64_MAX;
  for (std::int64_t w = 1; w <= kMostWaves; ++w) {
    const std::int64_t chunk = chunk_for(readers, parts, longest, w * places);
    const std::int64_t cost =
        ceiling(pieces_with(readers, parts, chunk), places) * (std::min(chunk, longest) + kStartTokens);
    if (cost < best_cost) {
      best = chunk;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace

std::int32_t own_variant(Stored stored, std::int32_t head_size, std::int64_t shared_bytes) {
  if (head_size != 128) return 0;  // the only one that is built
  const bool large = shared_bytes == 0 || shared_bytes >= kDecodeShared[3];
  return stored == Stored::kFp8 && large ? 3 : 1;
}

DecodePlan plan_decode(std::span<const DecodeReader> readers, std::int32_t group, std::int64_t places,
                       std::int32_t waves) {
  KVPLAN_CHECK(waves >= 0 && places > 0, waves, places);
  std::int64_t longest = 1;
  for (const DecodeReader& reader : readers) longest = std::max<std::int64_t>(longest, reader.tokens);
  const std::int64_t parts = ceiling(group, kHeadsOfPiece);
  const std::int64_t least = whole_tiles(ceiling(longest, kMostSplits));
  const std::int64_t chunk = std::max(least, choose_chunk(readers, parts, longest, places, waves));
  DecodePlan plan;
  plan.chunk = static_cast<std::int32_t>(chunk);
  for (std::size_t r = 0; r < readers.size(); ++r) {
    const DecodeReader& reader = readers[r];
    const auto splits = static_cast<std::int32_t>(std::max<std::int64_t>(1, ceiling(reader.tokens, chunk)));
    const auto size = static_cast<std::int32_t>(whole_tiles(ceiling(reader.tokens, splits)));
    plan.splits = std::max(plan.splits, splits);
    for (std::int32_t from = 0; from < group; from += kHeadsOfPiece) {
      const std::int32_t head = reader.kv_head * group + from;
      const std::int32_t heads = std::min(kHeadsOfPiece, group - from);
      for (std::int32_t s = 0; s < splits; ++s)
        plan.pieces.push_back({.of = reader,
                               .head = head,
                               .heads = heads,
                               .begin = std::min(s * size, reader.tokens),
                               .end = std::min((s + 1) * size, reader.tokens),
                               .row = splits == 1 ? -1 : plan.rows + s * heads,
                               .reader = static_cast<std::int32_t>(r)});
      if (splits == 1) continue;
      plan.combines.push_back(
          {.sequence = reader.sequence, .head = head, .heads = heads, .row = plan.rows, .splits = splits});
      plan.rows += splits * heads;
    }
  }
  std::stable_sort(plan.pieces.begin(), plan.pieces.end(), [](const DecodePiece& a, const DecodePiece& b) {
    return a.end - a.begin > b.end - b.begin;
  });
  plan.waves = static_cast<std::int32_t>(ceiling(static_cast<std::int64_t>(plan.pieces.size()), places));
  return plan;
}

}  // namespace kvplan::validator
