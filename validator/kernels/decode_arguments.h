// Decode attention over a paged cache: one new token of each sequence attends to the kept tokens of its KV heads.
//
//   out[b][h] = sum_t softmax_t(scale * q[b][h] . k[t]) v[t]       t over the kept tokens of KV head h / group
//
// A "reader" is one KV head of one sequence. Layouts (elements; D = head_size, P = page_tokens):
//   q, out   [sequences][query_heads][D]   fp16 for an fp16 cache, else bf16
//   k, v     rows of D elements, two pools with the same layout. Token `in` of page `p` for KV head h is row
//            p * page_rows + h * head_rows + in. [page][head][token] has page_rows = kv_heads * P, head_rows = P;
//            pages of one head only (after compaction) have page_rows = P, head_rows = 0
//   table    page numbers; token t of a reader is in page table[reader.table + t / P]
//   lse      [sequences][query_heads], base 2: log2 sum_t 2^(score_t); score is the logit times log2(e)
//   logits   [sequences][query_heads][logit_stride], optional: scores as above; a reader's v-th token at v
//
// decode_plan.h cuts the work into pieces of [begin, end) of a reader's tokens. A reader with one piece writes `out`
// directly. Pieces of other readers write (m, l) and an unnormalised row of floats; the second launch,
// `CombineArguments`, joins them in the order of the splits, so results do not depend on which piece ended first. A
// piece without a counted token writes m = -infinity, l = 0. A reader that keeps no token has result 0 and lse =
// -infinity.
//
// This is FlashDecoding (Dao et al. 2023) with the work list of FlashInfer (Ye et al. 2025, attention/scheduler.cuh).
#pragma once

#include <cstdint>

#include "validator/kernels/numbers.h"

namespace kvplan::validator {

/// One KV head of one sequence. Its v-th token in [0, tokens) is at position v if v < sinks, else v + skip; with a
/// list, at list[first + v]. With a mask, bit v % 32 of mask[first + v / 32] says whether it counts.
struct DecodeReader {
  std::int32_t sequence{0}, kv_head{0};
  std::int32_t tokens{0};
  std::int32_t sinks{0}, skip{0};
  std::int32_t table{0};
  std::int64_t first{0};
};

/// The work of one thread block: tokens [begin, end) of a reader, for the query heads [head, head + heads) of its
/// sequence. It contains its reader, so that a block finds all that it needs in one load.
struct DecodePiece {
  DecodeReader of{};
  std::int32_t head{0}, heads{0};  ///< at most 16
  std::int32_t begin{0}, end{0};
  std::int32_t row{-1};    ///< row of the partial results, for `head`; -1: the piece writes `out`
  std::int32_t reader{0};  ///< its number, for tests
};

enum class ReadBy : std::int32_t { kPlace, kMask, kList };

struct DecodeArguments {
  const void* q;
  const void* k;
  const void* v;
  const std::int32_t* table;
  const std::int32_t* list;
  const std::uint32_t* mask;
  const DecodePiece* pieces;
  void* out;
  float* lse;
  float* partial_rows;  ///< [rows][D]
  float* partial_ml;    ///< [rows][2]: m in base 2, l
  float* logits;        ///< null: not wanted
  std::int64_t logit_stride;
  std::int32_t piece_count;
  Stored stored;
  std::int32_t head_size, query_heads;
  std::int32_t page_shift;  ///< P = 1 << page_shift
  std::int32_t page_rows, head_rows;
  float score_scale;  ///< factor from q . k to the score: softmax scale, log2(e), the keys' scale
  float value_scale;  ///< factor of v
  ReadBy read_by;
  std::int32_t variant;  ///< variant of the pipeline (decode_plan.h)
};

/// Query heads [head, head + heads) of a sequence have `splits` partial results each: rows row + s * heads + i.
struct CombineItem {
  std::int32_t sequence, head, heads;
  std::int32_t row, splits;
};

struct CombineArguments {
  const CombineItem* items;
  const float* partial_rows;
  const float* partial_ml;
  void* out;
  float* lse;
  std::int32_t item_count, most_heads;  ///< most heads of an item
  std::int32_t head_size, query_heads;
  Stored stored;
  float value_scale;
};

}  // namespace kvplan::validator
