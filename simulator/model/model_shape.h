// The shape of a served model: what decides KV bytes and the work of a step.
//
// KV bytes of one token = layers x 2 (key and value) x KV heads x head size x bytes per element, one rank, no
// sharding (formula and worked figures: Kwon et al., SOSP 2023, section 3; model cards of the named
// releases).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::model {

/// A dense decoder with grouped-query attention and a gated feed-forward block, as the Llama family has it.
struct ModelShape {
  std::string_view name;
  std::string_view source;  ///< where the figures are from
  std::int64_t layers{0};
  std::int64_t hidden{0};
  std::int64_t query_heads{0};
  std::int64_t kv_heads{0};
  std::int64_t head_size{0};
  std::int64_t feed_forward{0};
  std::int64_t vocabulary{0};
  std::int64_t element_bytes{2};

  [[nodiscard]] std::int64_t kv_token_bytes() const {
    return layers * 2 * kv_heads * head_size * element_bytes;
  }
  /// Weights, embeddings (not tied to the output layer) and norms.
  [[nodiscard]] std::int64_t parameters() const;
  /// Weights that every token is multiplied by: all but the input embedding, which is a lookup.
  [[nodiscard]] std::int64_t multiplied_parameters() const { return parameters() - vocabulary * hidden; }
};

/// Known models by name.
std::span<const ModelShape> models();
/// One of them. Errors: unknown name, with what exists.
Result<const ModelShape*> find_model(std::string_view name);

}  // namespace kvplan::model
