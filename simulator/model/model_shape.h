// The shape of a served model: what determines KV bytes and the work of a step.
//
// For every token, a layer stores either a key and a value for each KV head (heads x (key size + value size)
// elements), or one latent vector with a rotary part that all query heads share (DeepSeek-V2, arXiv 2405.04434,
// section 2.1). A layer with a window of W needs, while the token at position p is computed, only the tokens at
// p-W+1..p (vllm-project/vllm v0.15.1, vllm/v1/kv_cache_interface.py: FullAttentionSpec, SlidingWindowSpec,
// MLAAttentionSpec). Bytes by format, rank and length: footprint.h. Known models, and shapes from files:
// simulator/modelfile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/model/weights.h"

namespace kvplan::model {

enum class CacheKind : std::uint8_t {
  kHeads,   ///< keys and values by KV head
  kLatent,  ///< one vector for all heads
  kNone,    ///< nothing of each token: a state instead, the cache of another layer, or nothing at all
};

/// What one layer stores: of a token, in elements; beside that, of a sequence.
struct LayerCache {
  CacheKind kind{CacheKind::kHeads};
  std::int64_t heads{0}, key_size{0}, value_size{0};  ///< kHeads
  std::int64_t latent_size{0}, rope_size{0};          ///< kLatent
  std::int64_t window{0};                             ///< tokens that a query sees, its own included; 0: all
  bool chunked{false};             ///< a query sees only tokens since the last multiple of `window`
  std::int64_t compress_ratio{0};  ///< one more vector for each so many tokens of the sequence; 0: none
  /// Keys of an indexer, whatever the format: beside each of those vectors; without them beside each token
  std::int64_t indexer_bytes{0};
  std::int64_t state_bytes{0};        ///< of a sequence, however long; ranks share it, but where kLatent
  std::int64_t whole_state_bytes{0};  ///< the part of them that each rank has whole

  [[nodiscard]] std::int64_t elements() const {
    if (kind == CacheKind::kNone) return 0;
    return kind == CacheKind::kHeads ? heads * (key_size + value_size) : latent_size + rope_size;
  }
  /// A state in place of keys and values, or beside them (and not a part of a compressed cache).
  [[nodiscard]] bool has_state() const { return state_bytes > 0 && compress_ratio == 0; }
  friend bool operator==(const LayerCache&, const LayerCache&) = default;
};

/// Consecutive equal layers.
struct LayerRun {
  std::int64_t layers{0};
  LayerCache cache;
};

/// The sizes that determine the number of weights. Zero: the model has none of this kind.
struct WeightShape {
  std::int64_t feed_forward{0};  ///< width of the dense feed-forward block
  std::int64_t matrices{3};      ///< matrices of a feed-forward block: 3 if gated, else 2
  std::int64_t vocabulary{0};
  bool tied{false};            ///< the output layer is the input embedding
  std::int64_t key_size{0};    ///< key size of a query head
  std::int64_t value_size{0};  ///< value size of a query head
  std::int64_t query_rank{0};  ///< latent: rank of the query projection; 0: it has full rank
  std::int64_t experts{0};     ///< routed experts of a layer
  std::int64_t experts_per_token{0};
  std::int64_t expert_feed_forward{0};
  /// Width of the feed-forward blocks that every token passes in addition to its experts
  std::int64_t shared_feed_forward{0};
  std::int64_t dense_layers{0};  ///< first layers without experts, in a model with experts
};

/// Numbers of weights. Biases and learned positions, which are few, are not counted.
struct WeightCounts {
  std::int64_t all{0};
  /// Weights that multiply every token: includes only the experts of the token, not the input embedding
  std::int64_t multiplied{0};
  /// Weights that a step with many tokens reads: includes all experts, not the input embedding
  std::int64_t read{0};
};

struct ModelShape {
  std::string name;
  std::string source;  ///< source of the figures
  std::int64_t layers{0};
  std::int64_t hidden{0};
  std::int64_t query_heads{0};
  std::int64_t kv_heads{0};       ///< KV heads of a layer; 1 where latent
  std::int64_t element_bytes{2};  ///< bytes of an element of cache or weights, before any format
  std::vector<LayerRun> runs{};   ///< all layers, from the first to the last
  std::optional<std::int64_t> max_positions{};  ///< tokens of the longest request that the model was made for
  std::optional<std::int64_t>
      scaled_positions{};  ///< the same as vLLM counts it (modelfile/positions.h); absent: it is the same
  WeightShape weight_shape{};
  ModelWeights matrices{};           ///< as the checkpoint has them; empty: those of weight_shape, in 16 bits
  std::string weights_miss{};        ///< what is unknown about the weights; empty: they can be counted
  std::string runs_miss{};           ///< what runs do not model of the cache; empty: runs model all of it
  std::vector<std::string> notes{};  ///< what the byte counts leave out, one sentence each

  /// Bytes of one token in all layers, on one rank that holds the whole model, ignoring windows.
  [[nodiscard]] std::int64_t kv_token_bytes() const;
  /// As kv_token_bytes, if a model with a latent vector stored keys and values by query head; absent for other models.
  [[nodiscard]] std::optional<std::int64_t> unshared_token_bytes() const;
  /// Layers that see only a window.
  [[nodiscard]] std::int64_t window_layers() const;
  /// Layers with a state.
  [[nodiscard]] std::int64_t state_layers() const;
  /// Layers with attention: in a model with states those with a cache of tokens, else all.
  [[nodiscard]] std::int64_t attention_layers() const;
  /// The numbers of weights. Errors: something about the weights is unknown (field "model").
  [[nodiscard]] Result<WeightCounts> weights() const;
  /// Floating-point operations of one query-key pair in all layers with attention: scores, and weighted values.
  [[nodiscard]] std::int64_t pair_flops() const {
    return 2 * query_heads * (weight_shape.key_size + weight_shape.value_size) * attention_layers();
  }
};

}  // namespace kvplan::model
