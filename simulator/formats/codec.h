// A format of the KV cache as a codec: what is stored of each token of one layer, what comes back when it is read, and
// the bytes that this takes.
//
// Life cycle: one codec per layer. `append` the prompt in one call (fewer tokens where a token policy kept fewer), then
// `end_prompt`; then for each generated token `append`, read (its query attends), `end_step`. `drop` takes tokens away
// between these calls. A format either encodes when it appends, so that the token's own query already reads what is
// stored, or keeps new tokens exactly and encodes in `end_prompt` and `end_step`.
//
// Versions: what comes back of a token changes when it is encoded again. A static format writes it once, KIVI leaves it
// exact and then writes it, `mixed` writes it in each tier, SVD in each update. The numbers that come back are kept
// decoded, tokens side by side (Plane::stored), and written over: so attention over any set of tokens goes through
// blocks of them and never asks for a version, and as nothing is kept of a query beyond its step, nothing could be out
// of date. What a version would tell is counted, `Plane::version` by token and `Plane::writes` in all.
//
// A token's index is its place among the tokens that a head stores, oldest first; its position is its place in the
// sequence. Heads may store different tokens, keys and values of a head store the same ones. Arithmetic is that of IEEE
// doubles in a fixed order: the same bits on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/formats/plane.h"

namespace kvplan::formats {

enum class Side : std::uint8_t { kKeys, kValues };
inline constexpr std::array<Side, 2> kSides{Side::kKeys, Side::kValues};

/// One layer. Query head h reads KV head h / (query_heads / kv_heads).
struct Shape {
  std::int32_t query_heads{1};
  std::int32_t kv_heads{1};
  std::int32_t key_size{1};
  std::int32_t value_size{1};

  [[nodiscard]] std::int32_t size(Side side) const { return side == Side::kKeys ? key_size : value_size; }
  [[nodiscard]] std::int32_t group() const { return query_heads / kv_heads; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Bytes of the keys or of the values of a layer, by what they hold. An exact element counts 2 bytes.
struct Regions {
  std::int64_t codes{0};
  std::int64_t scales{0};
  std::int64_t zeros{0};
  std::int64_t index{0};      ///< which elements are kept, which cluster, how large it is
  std::int64_t factors{0};    ///< of low rank
  std::int64_t centroids{0};  ///< codebooks: the vectors that stand for clusters
  std::int64_t exact{0};

  [[nodiscard]] std::int64_t total() const {
    return codes + scales + zeros + index + factors + centroids + exact;
  }
  /// Of these, what is beside that which stands for elements.
  [[nodiscard]] std::int64_t metadata() const { return scales + zeros + index + centroids; }
};

/// Of one layer, all KV heads.
struct LayerBytes {
  Regions keys;
  Regions values;
  [[nodiscard]] const Regions& of(Side side) const { return side == Side::kKeys ? keys : values; }
  [[nodiscard]] std::int64_t total() const { return keys.total() + values.total(); }
  [[nodiscard]] std::int64_t metadata() const { return keys.metadata() + values.metadata(); }
};

/// How one stored element is coded. What a format does not have is empty.
struct Coded {
  std::optional<std::int64_t> code;
  std::optional<double> scale;  ///< the number that multiplies the code's value
  std::optional<double> zero;
};

/// What stands in `Plane::codes`, and what a code's checksum is over.
enum class CodeForm : std::uint8_t {
  kNone,      ///< no codes: factors, exact tokens
  kElements,  ///< one byte for each element
  kSigned,    ///< the same, in two's complement
  kLabels,    ///< one number for each token: its block
};

/// Tokens of one append of one KV head.
struct HeadTokens {
  std::span<const std::int64_t> positions;  ///< ascending, after all that are stored
  std::span<const double> keys;             ///< [token * key_size + channel]
  std::span<const double> values;
};

/// Which attention weights a format is told of.
enum class WeightUse : std::uint8_t {
  kNone,
  kNewest,  ///< of the newest query: of the prompt its last one
  kSums,    ///< of every query: of the prompt the sums of all
};

/// Queries of all tokens of the prompt, which some formats learn from.
struct PromptQueries {
  std::int64_t tokens{0};
  std::span<const std::vector<float>>
      heads;  ///< [query head][token * key_size + channel], at least the prompt's
};

class Codec {
 public:
  /// The planes of both sides have these groups of channels (Plane::group). `other_heads`: KV heads of other layers
  /// that are stored with this one, behind the layer's own.
  Codec(const Shape& shape, std::int32_t key_group, std::int32_t value_group, std::int32_t other_heads = 0);
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  /// REQUIRES: an entry for each KV head, and then for each of other layers; the first call is the prompt.
  void append(std::span<const HeadTokens> heads);
  [[nodiscard]] virtual WeightUse weight_use() const { return WeightUse::kNone; }
  /// What the tokens that a head stores got of a query's attention, means over the head's query heads: of the prompt
  /// before its tokens are dropped, then of each query that has read. REQUIRES: weight_use.
  void attended(std::int32_t head, std::span<const double> weights) { on_attended(head, weights); }
  /// Once, after the prompt was appended.
  void end_prompt(const PromptQueries& queries) { on_prompt_end(queries); }
  /// After the query of an appended token has read.
  void end_step() { on_step_end(); }
  /// REQUIRES: indices ascending and distinct.
  void drop(std::int32_t head, std::span<const std::int32_t> indices);
  /// Of all heads at once; what a format merges, it merges then. REQUIRES: an entry for each, as above.
  void drop(std::span<const std::vector<std::int32_t>> heads);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int32_t other_heads() const {
    return static_cast<std::int32_t>(positions_.size()) - shape_.kv_heads;
  }
  [[nodiscard]] std::span<const std::int64_t> positions(std::int32_t head) const {
    return positions_[static_cast<std::size_t>(head)];
  }
  /// What is read: `stored` of any token of it.
  [[nodiscard]] const Plane& plane(Side side, std::int32_t head) const {
    return planes_[static_cast<std::size_t>(side)][static_cast<std::size_t>(head)];
  }
  /// Bytes of all KV heads of the layer; of what it shares with other layers, its part.
  [[nodiscard]] virtual Regions regions(Side side) const = 0;
  [[nodiscard]] std::int64_t total_bytes() const {
    return regions(Side::kKeys).total() + regions(Side::kValues).total();
  }
  [[nodiscard]] virtual CodeForm code_form() const = 0;
  [[nodiscard]] virtual Coded coded(Side side, std::int32_t head, std::int32_t index,
                                    std::int32_t channel) const;

 protected:
  /// The newest tokens of each head, from `fresh` on, were appended exactly.
  virtual void on_append() {}
  virtual void on_prompt_end(const PromptQueries& /*queries*/) {}
  virtual void on_step_end() {}
  virtual void on_attended(std::int32_t /*head*/, std::span<const double> /*weights*/) {}
  /// Before the tokens of all heads go.
  virtual void on_merge(std::span<const std::vector<std::int32_t>> /*heads*/) {}
  /// Before these tokens of a head go.
  virtual void on_drop(std::int32_t /*head*/, std::span<const std::int32_t> /*indices*/) {}

  [[nodiscard]] Plane& plane_of(Side side, std::int32_t head) {
    return planes_[static_cast<std::size_t>(side)][static_cast<std::size_t>(head)];
  }
  /// Of the layer's own heads.
  [[nodiscard]] std::span<Plane> planes(Side side) {
    return std::span(planes_[static_cast<std::size_t>(side)]).first(own_heads());
  }
  [[nodiscard]] std::span<const Plane> planes(Side side) const {
    return std::span(planes_[static_cast<std::size_t>(side)]).first(own_heads());
  }
  /// Index of the first token of the latest append.
  [[nodiscard]] std::int32_t fresh(std::int32_t head) const { return fresh_[static_cast<std::size_t>(head)]; }
  /// True during the append of the prompt, and until it has ended.
  [[nodiscard]] bool in_prompt() const { return appends_ == 1; }

 private:
  [[nodiscard]] std::size_t own_heads() const { return static_cast<std::size_t>(shape_.kv_heads); }

  Shape shape_;
  std::array<std::vector<Plane>, 2> planes_;          ///< [side][KV head], those of other layers last
  std::vector<std::vector<std::int64_t>> positions_;  ///< [KV head]
  std::vector<std::int32_t> fresh_;
  std::int64_t appends_{0};
};

}  // namespace kvplan::formats
