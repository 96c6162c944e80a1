// The attention output of one query over the tokens that a codec stores, compared with that over all recorded tokens.
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

  /// Computes the errors of the query of token t over the stored tokens. The full cache's output is computed once for
  /// any number of codecs. REQUIRES: t >= the last t; t < tokens; each head stores at least one token. `rotation`: the
  /// rotation that stored keys still need; null: none.
  void compare(std::int64_t t, const Codec& codec, const Rotation* rotation);
  /// [query head], of the latest `compare`.
  [[nodiscard]] const std::vector<double>& output_error() const { return output_error_; }
  [[nodiscard]] const std::vector<double>& logit_error() const { return logit_error_; }
  /// [query head], of the latest `compare`: the full cache's weights, summed over the stored tokens.
  [[nodiscard]] const std::vector<double>& attended_mass() const { return mass_; }
  /// Attention that the tokens stored by a KV head received in the latest `compare`, mean over its query heads; for
  /// codecs that use weights.
  [[nodiscard]] std::span<const double> weights(std::int32_t head) const {
    return weights_[static_cast<std::size_t>(head)];
  }
  /// Rows of the full cache, at the token compared last.
  [[nodiscard]] attention::LayerRows& rows() { return *rows_; }

 private:
  void seek(std::int64_t t);
  void stored_logits(std::int64_t t, std::int32_t head, const Codec& codec, const Rotation* rotation);
  void compare_head(std::int64_t t, std::int32_t query_head, const Codec& codec, std::vector<double>& logits);

  const attention::LayerTensors& in_;
  std::unique_ptr<attention::LayerRows> rows_;
  std::vector<std::vector<double>> logits_;  ///< [query head of a KV head][token index]
  std::int64_t at_{-1};                      ///< token for which the full cache's outputs were computed
  std::vector<std::vector<double>> full_;    ///< [query head][channel]
  std::vector<double> output_error_;
  std::vector<double> logit_error_;
  std::vector<double> mass_;
  std::vector<double> gathered_;
  std::vector<double> packed_;                ///< keys of a few tokens
  std::vector<double> queries_;               ///< queries of a KV head, side by side
  std::vector<const double*> values_of_;      ///< [token index] of a KV head
  std::vector<std::vector<double>> weights_;  ///< [KV head][token index]
};

}  // namespace kvplan::formats
