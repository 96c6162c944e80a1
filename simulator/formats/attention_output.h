// The attention output of one query over what a codec stores, and over everything as it was recorded.
#pragma once

#include <memory>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/formats/codec.h"
#include "simulator/formats/rotation.h"

namespace kvplan::formats {

class AttentionOutput {
 public:
  /// The tensors outlive this. Logits and rows of the full cache are computed in blocks of queries.
  explicit AttentionOutput(const attention::LayerTensors& tensors);

  /// Errors of the query of token t over what is stored. What the full cache gives is computed once for any number of
  /// codecs. REQUIRES: t >= the last one; t < tokens; each head stores at least one token.
  /// `rotation`: how what is stored of a key still has to turn; null: not at all.
  void compare(std::int64_t t, const Codec& codec, const Rotation* rotation);
  /// [query head], of the latest `compare`.
  [[nodiscard]] const std::vector<double>& output_error() const { return output_error_; }
  [[nodiscard]] const std::vector<double>& logit_error() const { return logit_error_; }
  /// [query head], of the latest `compare`: the full cache's weights, summed over the tokens that are stored.
  [[nodiscard]] const std::vector<double>& attended_mass() const { return mass_; }
  /// What the tokens that a KV head stores got in the latest `compare`, means over its query heads; where the codec is
  /// told of weights.
  [[nodiscard]] std::span<const double> weights(std::int32_t head) const {
    return weights_[static_cast<std::size_t>(head)];
  }
  /// Rows of the full cache, at the token that was compared last.
  [[nodiscard]] attention::LayerRows& rows() { return *rows_; }

 private:
  void seek(std::int64_t t);
  void stored_logits(std::int64_t t, std::int32_t head, const Codec& codec, const Rotation* rotation);
  void compare_head(std::int64_t t, std::int32_t query_head, const Codec& codec, std::vector<double>& logits);

  const attention::LayerTensors& in_;
  std::unique_ptr<attention::LayerRows> rows_;
  std::vector<std::vector<double>> logits_;  ///< [query head of a KV head][token index]
  std::int64_t at_{-1};                      ///< whose outputs of the full cache these are
  std::vector<std::vector<double>> full_;    ///< [query head][channel]
  std::vector<double> output_error_;
  std::vector<double> logit_error_;
  std::vector<double> mass_;
  std::vector<double> gathered_;
  std::vector<double> packed_;                ///< keys of a few tokens
  std::vector<double> queries_;               ///< of a KV head, beside each other
  std::vector<const double*> values_of_;      ///< [token index] of a KV head
  std::vector<std::vector<double>> weights_;  ///< [KV head][token index]
};

}  // namespace kvplan::formats
