// Attention rows computed from Q and K of one layer: row t of a head is the softmax of its logits over the tokens that
// its query sees. Values, if recorded, allow output errors.
//
// Logits, as in simulator/io/ATTENTION_FORMAT.md: scale * (q_t . k_i); then c * tanh(logit / c) with a soft cap; then
// slope * (p_i - p_t) with a bias is added. Tokens before the window do not take part: their logit is -infinity. A sink
// is one more logit in the denominator.
//
// Arithmetic, the same on every machine: elements are converted to doubles (exact), products are added in the order of
// the element index, the softmax uses fixed_exp and sum_in_lanes (kernels.h). Keys are stored transposed, so that the
// inner loop runs over tokens, which are independent of each other: it vectorises at any width without changing the
// order in which one score is summed.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/attention/rotary.h"

namespace kvplan::attention {

/// Tensors of one layer after position encoding. Heads are the recorded ones.
struct LayerTensors {
  std::int64_t tokens{0};
  std::int32_t query_heads{1};
  std::int32_t kv_heads{1};
  std::int32_t key_size{1};
  std::int32_t value_size{0};
  double scale{1.0};                        ///< usually 1 / sqrt(key_size)
  std::vector<std::vector<float>> queries;  ///< [query head][token * key_size + c]
  std::vector<std::vector<float>> keys;     ///< [KV head][token * key_size + c]
  std::vector<std::vector<float>> values;   ///< [KV head][token * value_size + c]; empty if not recorded
  std::int64_t window{0};                   ///< tokens that a query sees, its own included; 0 = all
  double soft_cap{0};                       ///< 0 = none
  std::vector<double> sink_logits{};        ///< [query head]; empty = none
  std::vector<double> bias_slopes{};        ///< [query head]; empty = none
  std::vector<std::uint32_t> positions{};   ///< [token]; empty = token t is at position t
  std::optional<Rotary> rotary{};           ///< rotary embedding of queries and keys
  std::vector<std::vector<float>> value_norms{};  ///< [KV head][token]; empty if not recorded
  /// [query head][c * hidden_size + j]; empty if not recorded
  std::vector<std::vector<float>> output_weights{};
  std::int32_t hidden_size{0};

  [[nodiscard]] std::int64_t position(std::int64_t token) const {
    return positions.empty() ? token : std::int64_t{positions[static_cast<std::size_t>(token)]};
  }
  /// The first token that the query of token t sees.
  [[nodiscard]] std::int64_t first_seen(std::int64_t t) const {
    return window > 0 && t >= window ? t - window + 1 : 0;
  }
  /// The logit of token i for the query of token t, from the scaled product; -infinity before the window.
  [[nodiscard]] double logit(std::int32_t query_head, std::int64_t t, std::int64_t i, double product) const;
  /// True: `logit` is just the scaled product.
  [[nodiscard]] bool plain_logits() const { return window == 0 && soft_cap == 0 && bias_slopes.empty(); }
  /// Logit of the sink; -infinity if there is none.
  [[nodiscard]] double sink_logit(std::int32_t query_head) const {
    return sink_logits.empty() ? -std::numeric_limits<double>::infinity()
                               : sink_logits[static_cast<std::size_t>(query_head)];
  }
};

/// Replaces logits by e^(logit - m), m the greatest of all logits and `sink`. Returns their sum including the sink's
/// share, and `sink_share`, e^(sink - m). The sum is 0 if all logits are -infinity and there is no sink.
struct SoftmaxSum {
  double sum{0};
  double sink_share{0};
};
SoftmaxSum exp_with_sink(std::span<double> logits, double sink);

/// A reader of rows computed in blocks of a few tokens. REQUIRES: sizes as in the fields, all finite; queries exist.
std::unique_ptr<LayerRows> rows_from_tensors(LayerTensors tensors);

/// A reader of `rows` together with the tensors of its layer. If there are queries and keys, `exact_row` is computed
/// from them on demand.
std::unique_ptr<LayerRows> rows_beside_tensors(std::unique_ptr<LayerRows> rows, LayerTensors tensors);

}  // namespace kvplan::attention
