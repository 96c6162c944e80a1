// The twin of decode attention on the host: the same pieces and tiles, online softmax, then the same combination.
#include <algorithm>
#include <array>
#include <limits>

#include "simulator/base/threads.h"
#include "validator/kernels/decode_plan.h"
#include "validator/kernels/host_launch.h"
#include "validator/kernels/host_vectors.h"

namespace kvplan::validator {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr int kMostSize = 128;

struct Rows {  // of one piece: 16 heads at most
  alignas(64) std::array<std::array<float, kMostSize>, kHeadsOfPiece> q, sum;
  alignas(64) std::array<std::array<float, kDecodeTile>, kHeadsOfPiece> scores;
  alignas(64) std::array<float, kMostSize> row;
  std::array<float, kHeadsOfPiece> most, weight;
};

struct Tile {
  std::array<std::int64_t, kDecodeTile> rows;
  std::array<bool, kDecodeTile> counts;
  std::int32_t first;  ///< index among the reader's tokens
  int tokens;
};

Tile tile_at(const DecodeArguments& a, const DecodeReader& reader, std::int32_t begin, std::int32_t end) {
  Tile tile;
  tile.first = begin;
  tile.tokens = std::min(kDecodeTile, end - begin);
  for (int i = 0; i < tile.tokens; ++i) {
    const std::int32_t v = begin + i;
    const auto n = static_cast<std::size_t>(i);
    const std::int32_t place = a.read_by == ReadBy::kList ? a.list[reader.first + v]
                               : v < reader.sinks         ? v
                                                          : v + reader.skip;
    const std::int64_t page = a.table[reader.table + (place >> a.page_shift)];
    tile.rows[n] =
        page * a.page_rows + std::int64_t{reader.kv_head} * a.head_rows + (place & ((1 << a.page_shift) - 1));
    tile.counts[n] = a.read_by != ReadBy::kMask || ((a.mask[reader.first + v / 32] >> (v % 32)) & 1U) != 0;
  }
  return tile;
}

template <Stored kStored>
KVPLAN_INLINE void add_tile(const DecodeArguments& a, const DecodePiece& piece, const DecodeReader& reader,
                            const Tile& tile, Rows& rows) {
  const int size = a.head_size, heads = piece.heads;
  const std::int64_t row_bytes = size * bytes_of(kStored);
  for (int i = 0; i < tile.tokens; ++i) {
    const auto n = static_cast<std::size_t>(i);
    load_row<kStored>(rows.row.data(), static_cast<const char*>(a.k) + tile.rows[n] * row_bytes, size);
    for (int g = 0; g < heads; ++g) {
      const auto h = static_cast<std::size_t>(g);
      const float score = dot_row(rows.q[h].data(), rows.row.data(), size) * a.score_scale;
      rows.scores[h][n] = tile.counts[n] ? score : kNone;
      if (a.logits != nullptr)
        a.logits[(std::int64_t{reader.sequence} * a.query_heads + piece.head + g) * a.logit_stride +
                 tile.first + i] = rows.scores[h][n];
    }
  }
  for (int g = 0; g < heads; ++g) {
    const auto h = static_cast<std::size_t>(g);
    float most = rows.most[h];
    for (int i = 0; i < tile.tokens; ++i) most = std::max(most, rows.scores[h][static_cast<std::size_t>(i)]);
    if (most == kNone) {
      for (float& score : rows.scores[h]) score = 0;
      continue;
    }
    const float shrink = rows.most[h] == kNone ? 0.0F : power_of_two(rows.most[h] - most);
    rows.most[h] = most;
    float weight = 0;
    for (int i = 0; i < kDecodeTile; ++i) {
      float& score = rows.scores[h][static_cast<std::size_t>(i)];
      score = i < tile.tokens ? power_of_two(score - most) : 0.0F;
      weight += score;
    }
    rows.weight[h] = rows.weight[h] * shrink + weight;
    for (int d = 0; d < size; ++d) rows.sum[h][static_cast<std::size_t>(d)] *= shrink;
  }
  for (int i = 0; i < tile.tokens; ++i) {
    const auto n = static_cast<std::size_t>(i);
    if (!tile.counts[n]) continue;  // its values may be NaN
    load_row<kStored>(rows.row.data(), static_cast<const char*>(a.v) + tile.rows[n] * row_bytes, size);
    for (int g = 0; g < heads; ++g) {
      const float p = rows.scores[static_cast<std::size_t>(g)][n];
      float* const sum = rows.sum[static_cast<std::size_t>(g)].data();
      for (int d = 0; d < size; ++d) sum[d] += p * rows.row[static_cast<std::size_t>(d)];
    }
  }
}

template <Stored kStored>
KVPLAN_INLINE void run_piece(const DecodeArguments& a, const DecodePiece& piece, const DecodeReader& reader,
                             Rows& rows) {
  for (std::int32_t begin = piece.begin; begin < piece.end; begin += kDecodeTile)
    add_tile<kStored>(a, piece, reader, tile_at(a, reader, begin, piece.end), rows);
}
KVPLAN_CLONES void run_fp16(const DecodeArguments& a, const DecodePiece& p, const DecodeReader& r,
                            Rows& rows) {
  run_piece<Stored::kFp16>(a, p, r, rows);
}
KVPLAN_CLONES void run_bf16(const DecodeArguments& a, const DecodePiece& p, const DecodeReader& r,
                            Rows& rows) {
  run_piece<Stored::kBf16>(a, p, r, rows);
}
KVPLAN_CLONES void run_fp8(const DecodeArguments& a, const DecodePiece& p, const DecodeReader& r,
                           Rows& rows) {
  run_piece<Stored::kFp8>(a, p, r, rows);
}

void store_row(void* out, std::int64_t row, const float* sum, int size, float scale, Stored numbers) {
  auto* const to = static_cast<std::uint16_t*>(out) + row * size;
  for (int d = 0; d < size; ++d) to[d] = static_cast<std::uint16_t>(bits_of(numbers, sum[d] * scale));
}

}  // namespace

void launch_on_host(const DecodeArguments& a, int threads) {
  const Stored numbers = a.stored == Stored::kFp16 ? Stored::kFp16 : Stored::kBf16;
  on_threads(threads, static_cast<std::size_t>(a.piece_count), [&](std::size_t p) {
    const DecodePiece& piece = a.pieces[p];
    const DecodeReader& reader = piece.of;
    Rows rows;
    for (int g = 0; g < piece.heads; ++g) {
      const auto h = static_cast<std::size_t>(g);
      const auto* q = static_cast<const std::uint16_t*>(a.q) +
                      (std::int64_t{reader.sequence} * a.query_heads + piece.head + g) * a.head_size;
      for (int d = 0; d < a.head_size; ++d) rows.q[h][static_cast<std::size_t>(d)] = value_of(numbers, q[d]);
      rows.sum[h].fill(0);
      rows.most[h] = kNone;
      rows.weight[h] = 0;
    }
    (a.stored == Stored::kFp16   ? run_fp16
     : a.stored == Stored::kBf16 ? run_bf16
                                 : run_fp8)(a, piece, reader, rows);
    for (int g = 0; g < piece.heads; ++g) {
      const auto h = static_cast<std::size_t>(g);
      if (piece.row >= 0) {
        const std::int64_t row = piece.row + g;
        std::copy_n(rows.sum[h].data(), a.head_size, a.partial_rows + row * a.head_size);
        a.partial_ml[2 * row] = rows.most[h];
        a.partial_ml[2 * row + 1] = rows.weight[h];
        continue;
      }
      const std::int64_t row = std::int64_t{reader.sequence} * a.query_heads + piece.head + g;
      const float scale = rows.weight[h] > 0 ? a.value_scale / rows.weight[h] : 0.0F;
      store_row(a.out, row, rows.sum[h].data(), a.head_size, scale, numbers);
      a.lse[row] = rows.weight[h] > 0 ? rows.most[h] + std::log2(rows.weight[h]) : kNone;
    }
  });
}

void launch_on_host(const CombineArguments& a, int threads) {
  on_threads(threads, static_cast<std::size_t>(a.item_count), [&](std::size_t n) {
    const CombineItem& item = a.items[n];
    for (int g = 0; g < item.heads; ++g) {
      float most = kNone, weight = 0;
      std::array<float, kMostSize> sum{};
      for (int s = 0; s < item.splits; ++s)
        most = std::max(most, a.partial_ml[2 * (item.row + s * item.heads + g)]);
      for (int s = 0; s < item.splits; ++s) {
        const std::int64_t row = item.row + s * item.heads + g;
        if (a.partial_ml[2 * row] == kNone) continue;
        const float factor = power_of_two(a.partial_ml[2 * row] - most);
        weight += factor * a.partial_ml[2 * row + 1];
        for (int d = 0; d < a.head_size; ++d)
          sum[static_cast<std::size_t>(d)] += factor * a.partial_rows[row * a.head_size + d];
      }
      const std::int64_t row = std::int64_t{item.sequence} * a.query_heads + item.head + g;
      store_row(a.out, row, sum.data(), a.head_size, weight > 0 ? a.value_scale / weight : 0.0F, a.stored);
      a.lse[row] = weight > 0 ? most + std::log2(weight) : kNone;
    }
  });
}

}  // namespace kvplan::validator
