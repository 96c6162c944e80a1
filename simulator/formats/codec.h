// A format of the KV cache as a codec of one layer: the data that it stores for each token, the numbers that it gives
// when they are read, and the bytes that this takes.
//
// Life cycle: one codec per layer. `append` the prompt in one call (fewer tokens if a token policy kept fewer), then
// `end_prompt`; then for each generated token `append`, read (its query attends), `end_step`. `drop` removes tokens
// between these calls. A format either encodes when it appends, so that the token's own query already reads the encoded
// numbers, or stores new tokens exactly and encodes in `end_prompt` and `end_step`.
//
// Versions: the numbers of a token change when it is encoded again. A static format writes a token once, KIVI stores it
// exactly and then encodes it, `mixed` writes it in each tier, SVD in each update. Plane::stored has the current
// numbers, decoded, tokens side by side; new numbers overwrite old ones. So attention over any set of tokens reads
// blocks of them and needs no version, and no data of a query is kept beyond its step. Versions are only counted:
// `Plane::version` by token, `Plane::writes` in total.
//
// A token's index is its place among the tokens that a head stores, oldest first; its position is its place in the
// sequence. Heads may store different tokens; keys and values of a head belong to the same tokens. Arithmetic is that
// of IEEE doubles in a fixed order: the same bits on every machine.
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

/// Shape of one layer. Query head h reads KV head h / (query_heads / kv_heads).
struct Shape {
  std::int32_t query_heads{1};
  std::int32_t kv_heads{1};
  std::int32_t key_size{1};
  std::int32_t value_size{1};

  [[nodiscard]] std::int32_t size(Side side) const { return side == Side::kKeys ? key_size : value_size; }
  [[nodiscard]] std::int32_t group() const { return query_heads / kv_heads; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Bytes of the keys or of the values of a layer, by content. An exact element counts 2 bytes.
struct Regions {
  std::int64_t codes{0};
  std::int64_t scales{0};
  std::int64_t zeros{0};
  std::int64_t index{0};      ///< positions of kept elements, cluster numbers and sizes
  std::int64_t factors{0};    ///< factors of low-rank products
  std::int64_t centroids{0};  ///< codebooks: the vectors that represent clusters
  std::int64_t exact{0};

  [[nodiscard]] std::int64_t total() const {
    return codes + scales + zeros + index + factors + centroids + exact;
  }
  /// Bytes other than those of elements, factors and codes.
  [[nodiscard]] std::int64_t metadata() const { return scales + zeros + index + centroids; }
};

/// Bytes of one layer, all KV heads.
struct LayerBytes {
  Regions keys;
  Regions values;
  [[nodiscard]] const Regions& of(Side side) const { return side == Side::kKeys ? keys : values; }
  [[nodiscard]] std::int64_t total() const { return keys.total() + values.total(); }
  [[nodiscard]] std::int64_t metadata() const { return keys.metadata() + values.metadata(); }
};

/// The code of one stored element. Fields that a format does not have are empty.
struct Coded {
  std::optional<std::int64_t> code;
  std::optional<double> scale;  ///< the number that multiplies the code's value
  std::optional<double> zero;
};

/// The content of `Plane::codes`, over which a checksum of codes is computed.
enum class CodeForm : std::uint8_t {
  kNone,      ///< no codes: factors, exact tokens
  kElements,  ///< one byte for each element
  kSigned,    ///< one byte for each element, in two's complement
  kLabels,    ///< one number for each token: its block
};

/// Tokens that one KV head appends in one call.
struct HeadTokens {
  std::span<const std::int64_t> positions;  ///< ascending, after all stored positions
  std::span<const double> keys;             ///< [token * key_size + channel]
  std::span<const double> values;
};

/// The attention weights that a format uses.
enum class WeightUse : std::uint8_t {
  kNone,
  kNewest,  ///< weights of the newest query; for the prompt, of its last query
  kSums,    ///< weights of every query; for the prompt, sums over all its queries
};

/// Queries of all tokens of the prompt; some formats learn from them.
struct PromptQueries {
  std::int64_t tokens{0};
  std::span<const std::vector<float>>
      heads;  ///< [query head][token * key_size + channel], at least for the prompt
};

class Codec {
 public:
  /// The groups of channels (Plane::group) of both sides. `other_heads`: KV heads of other layers that are stored
  /// together with this layer, after its own heads.
  Codec(const Shape& shape, std::int32_t key_group, std::int32_t value_group, std::int32_t other_heads = 0);
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  /// REQUIRES: an entry for each KV head, then for each head of other layers; the first call is the prompt.
  void append(std::span<const HeadTokens> heads);
  [[nodiscard]] virtual WeightUse weight_use() const { return WeightUse::kNone; }
  /// Weights of a query's attention to the tokens that a head stores, mean over the head's query heads: for the
  /// prompt before tokens are dropped, then for each query after it has read. REQUIRES: weight_use.
  void attended(std::int32_t head, std::span<const double> weights) { on_attended(head, weights); }
  /// Call once, after the prompt was appended.
  void end_prompt(const PromptQueries& queries) { on_prompt_end(queries); }
  /// Call after the query of an appended token has read.
  void end_step() { on_step_end(); }
  /// Drops tokens of one head. REQUIRES: indices ascending and distinct.
  void drop(std::int32_t head, std::span<const std::int32_t> indices);
  /// Drops tokens of all heads at once; formats that merge tokens merge them now. REQUIRES: an entry for each head,
  /// as above.
  void drop(std::span<const std::vector<std::int32_t>> heads);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int32_t other_heads() const {
    return static_cast<std::int32_t>(positions_.size()) - shape_.kv_heads;
  }
  [[nodiscard]] std::span<const std::int64_t> positions(std::int32_t head) const {
    return positions_[static_cast<std::size_t>(head)];
  }
  /// The stored numbers: Plane::stored of any of its tokens.
  [[nodiscard]] const Plane& plane(Side side, std::int32_t head) const {
    return planes_[static_cast<std::size_t>(side)][static_cast<std::size_t>(head)];
  }
  /// Bytes of all KV heads of the layer; of data that it shares with other layers, its part.
  [[nodiscard]] virtual Regions regions(Side side) const = 0;
  [[nodiscard]] std::int64_t total_bytes() const {
    return regions(Side::kKeys).total() + regions(Side::kValues).total();
  }
  [[nodiscard]] virtual CodeForm code_form() const = 0;
  [[nodiscard]] virtual Coded coded(Side side, std::int32_t head, std::int32_t index,
                                    std::int32_t channel) const;

 protected:
  /// The newest tokens of each head, from index `fresh` on, were just appended exactly.
  virtual void on_append() {}
  virtual void on_prompt_end(const PromptQueries& /*queries*/) {}
  virtual void on_step_end() {}
  virtual void on_attended(std::int32_t /*head*/, std::span<const double> /*weights*/) {}
  /// Called before these tokens of all heads are dropped.
  virtual void on_merge(std::span<const std::vector<std::int32_t>> /*heads*/) {}
  /// Called before these tokens of a head are dropped.
  virtual void on_drop(std::int32_t /*head*/, std::span<const std::int32_t> /*indices*/) {}

  [[nodiscard]] Plane& plane_of(Side side, std::int32_t head) {
    return planes_[static_cast<std::size_t>(side)][static_cast<std::size_t>(head)];
  }
  /// The planes of the layer's own heads.
  [[nodiscard]] std::span<Plane> planes(Side side) {
    return std::span(planes_[static_cast<std::size_t>(side)]).first(own_heads());
  }
  [[nodiscard]] std::span<const Plane> planes(Side side) const {
    return std::span(planes_[static_cast<std::size_t>(side)]).first(own_heads());
  }
  /// Index of the first token of the latest append.
  [[nodiscard]] std::int32_t fresh(std::int32_t head) const { return fresh_[static_cast<std::size_t>(head)]; }
  /// True while the prompt is appended, and until it has ended.
  [[nodiscard]] bool in_prompt() const { return appends_ == 1; }

 private:
  [[nodiscard]] std::size_t own_heads() const { return static_cast<std::size_t>(shape_.kv_heads); }

  Shape shape_;
  std::array<std::vector<Plane>, 2> planes_;          ///< [side][KV head], heads of other layers last
  std::vector<std::vector<std::int64_t>> positions_;  ///< [KV head]
  std::vector<std::int32_t> fresh_;
  std::int64_t appends_{0};
};

}  // namespace kvplan::formats
