// Sparse attention. A method ("reader") keeps everything in the KV cache of a layer and chooses, for each query, the
// part that the query reads.
//
// The step model, for a prompt of P tokens and t = P, P + 1, ...:
//   prompt   attends everything; then the reader is made, with the keys of tokens 0 .. P-1 in the cache
//   1 append t joins the cache, and the reader's metadata of t with it
//   2 read   each query head of t gets a set of tokens; only these take part in its softmax
// A set has no token that the layer's window hides. It need not contain t: in some methods it does not.
//
// Fetched bytes. A query head fetches the keys and values of its set; a token that several query heads of a KV head
// read is fetched once. A reader also fetches the metadata by which it chooses (bounds of pages, centres of clusters,
// parts of keys). The rest of the cache stays in device memory; moving it elsewhere would need another memory tier,
// which is not modelled.
//
// Arithmetic is that of doubles in a fixed order; products of a query and a key are added as in
// attention/tensor_rows.h:
// the same bits on every machine.
//
// To add a reader: one file in members/ that defines a `ReaderKind`, one line in catalogue.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/attention/policy.h"
#include "simulator/attention/recording.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "simulator/core/read_rule.h"

namespace kvplan::readers {

inline constexpr std::string_view kFamily = "reader";

/// The input from which a reader of one layer of one sequence is made. All of it outlives the reader.
struct ReaderInput {
  const Choice& choice;
  const attention::LayerTensors& tensors;
  const attention::LayerInfo& layer;
  std::int64_t prompt{1};
  std::int64_t element_bytes{2};                   ///< bytes of one element in the model's cache
  std::span<const attention::HeadTable> tables{};  ///< for the parameters that name files, in their order
};

/// Positions that a query head reads, ascending.
using ReadSet = std::vector<std::int32_t>;

/// Tokens that are not read, but take part in the softmax as if each had this logit.
struct Estimate {
  double tokens{0};
  double logit{0};
  std::span<const double> values{};  ///< sum of their values; empty if none were recorded
};

class LayerReader {
 public:
  virtual ~LayerReader() = default;
  /// Step 1. REQUIRES: t = prompt, prompt + 1, ...
  virtual void append(std::int64_t /*t*/) {}
  /// Step 2: fills `sets` [query head], which are empty before. `rows` is at t; only a bound may look at its weights.
  virtual void read(std::int64_t t, const attention::LayerRows& rows, std::span<ReadSet> sets) = 0;
  /// For the latest `read`: estimates of tokens outside the head's set; valid until the next call.
  [[nodiscard]] virtual std::span<const Estimate> estimates(std::int32_t /*query_head*/) const { return {}; }
  /// Bytes of metadata stored beside the cache of a KV head, after the latest `append`.
  [[nodiscard]] virtual std::int64_t kept_metadata_bytes(std::int32_t /*head*/) const { return 0; }
  /// Bytes of metadata of a KV head that the latest `read` read completely, for any of its query heads.
  [[nodiscard]] virtual std::int64_t read_metadata_bytes(std::int32_t /*head*/) const { return 0; }
  /// Bytes of metadata fetched with each token that is read (its index in a list).
  [[nodiscard]] virtual std::int64_t entry_bytes(std::int32_t /*position*/) const { return 0; }
};

/// A KV head of a model's layer without a recording: in a run only lengths are known.
struct UnrecordedHead {
  const Choice& choice;
  std::int32_t layer{0}, head{0};  ///< numbers of layer and head in the model
  std::int32_t heads{1};           ///< KV heads of a layer
  std::int64_t query_heads{1};     ///< query heads of this KV head
  std::int64_t key_size{0};
  std::int64_t element_bytes{2};                   ///< bytes of one element in the model's cache
  std::span<const attention::HeadTable> tables{};  ///< as in ReaderInput
};

/// Reads that follow from lengths alone, in a decode step with n visible tokens, the step's own included.
struct CountedReads {
  core::ReadRule rule{};
  std::int64_t metadata_bytes{0};  ///< bytes stored and read for each `metadata_tokens` tokens
  std::int64_t metadata_tokens{1};
  /// True: `rule.fetched` is an upper bound; the exact number depends on keys and queries
  bool at_most{false};
};

/// One member of the family.
struct ReaderKind {
  Descriptor descriptor;
  /// The parameter for the number of tokens that a query head reads, which --budget of commands sets; empty: none.
  std::string_view budget{};
  /// True: it chooses by products of queries and keys, which does not work if a layer adds a bias by position.
  bool ranks_products{true};
  /// True: it has the parameter `dense_layers`: the number of first layers of the model that read everything and have
  /// no metadata.
  bool dense_layers{false};
  Status (*check)(const ReaderInput&) = nullptr;  ///< checks combinations of parameters; may be null
  /// The number of tokens that it reads, from lengths, for runs. Null: it depends on the keys. The caller handles
  /// `dense_layers`.
  Result<CountedReads> (*counted)(const UnrecordedHead&) = nullptr;
  std::unique_ptr<LayerReader> (*make)(const ReaderInput&);
};

// Functions that members share.

/// Query heads per KV head.
inline std::int32_t group_of(const attention::LayerTensors& tensors) {
  return tensors.query_heads / tensors.kv_heads;
}
/// The query of token t, key_size elements.
inline std::span<const float> query_of(const attention::LayerTensors& tensors, std::int32_t query_head,
                                       std::int64_t t) {
  const auto size = static_cast<std::size_t>(tensors.key_size);
  return std::span(tensors.queries[static_cast<std::size_t>(query_head)])
      .subspan(static_cast<std::size_t>(t) * size, size);
}
inline std::span<const float> key_of(const attention::LayerTensors& tensors, std::int32_t head,
                                     std::int64_t t) {
  const auto size = static_cast<std::size_t>(tensors.key_size);
  return std::span(tensors.keys[static_cast<std::size_t>(head)])
      .subspan(static_cast<std::size_t>(t) * size, size);
}
/// Appends begin .. end-1.
inline void append_range(std::int64_t begin, std::int64_t end, ReadSet& to) {
  for (std::int64_t i = begin; i < end; ++i) to.push_back(static_cast<std::int32_t>(i));
}

/// Scores of the query heads of a KV head, [query head of it][item], become one list if `share` is "mean" or "max".
/// With "none" they are left unchanged.
void share_scores(std::string_view share, std::vector<std::vector<double>>& scores);

/// "expected WHAT, found N" at "NAME:parameter"; for whole numbers.
Error wrong_param(const Choice& choice, std::string_view param, const std::string& what);

inline constexpr std::array<std::string_view, 3> kShares{"none", "mean", "max"};
inline constexpr Param kShareParam{.name = "share",
                                   .help =
                                       "Whether the query heads of a KV head rank separately (none), or rank "
                                       "by the mean or largest of their scores and then read the same tokens",
                                   .kind = ParamKind::kText,
                                   .fallback = "none",
                                   .choices = kShares};
constexpr Param dense_layers_param(std::string_view fallback) {
  return {.name = "dense_layers",
          .help = "First layers of the model, which read everything",
          .fallback = fallback,
          .low = 0,
          .high = 65536};
}

}  // namespace kvplan::readers
