#include "simulator/formats/attention_output.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/attention/kernels.h"
#include "simulator/attention/output_error.h"

namespace kvplan::formats {

AttentionOutput::AttentionOutput(const attention::LayerTensors& tensors)
    : in_(tensors),
      rows_(attention::rows_from_tensors(tensors)),
      logits_(static_cast<std::size_t>(tensors.query_heads / tensors.kv_heads)),
      full_(static_cast<std::size_t>(tensors.query_heads)),
      output_error_(static_cast<std::size_t>(tensors.query_heads)),
      logit_error_(output_error_.size()),
      mass_(output_error_.size()),
      weights_(static_cast<std::size_t>(tensors.kv_heads)) {}

/// Products are added in the order in which the rows of the full cache add them, so that equal keys give equal logits.
void AttentionOutput::stored_logits(std::int64_t t, std::int32_t head, const Codec& codec,
                                    const Rotation* rotation) {
  using attention::kScoredQueries;
  using attention::kScoredTokens;
  const Plane& keys = codec.plane(Side::kKeys, head);
  const auto positions = codec.positions(head);
  const auto size = static_cast<std::size_t>(keys.size());
  const auto count = static_cast<std::size_t>(keys.tokens());
  for (auto& logits : logits_) logits.resize(count);
  packed_.resize(kScoredTokens * size);
  queries_.resize(kScoredQueries * size);
  std::vector<double> turned;
  std::array<double, kScoredQueries * kScoredTokens> sums;
  for (std::size_t first = 0; first < logits_.size(); first += kScoredQueries) {
    const std::size_t queries = std::min(kScoredQueries, logits_.size() - first);
    for (std::size_t q = 0; q < queries; ++q) {
      const float* const query =
          in_.queries[static_cast<std::size_t>(head) * logits_.size() + first + q].data() +
          static_cast<std::size_t>(t) * size;
      for (std::size_t c = 0; c < size; ++c) queries_[c * kScoredQueries + q] = static_cast<double>(query[c]);
    }
    for (std::size_t begin = 0; begin < count; begin += kScoredTokens) {
      const std::size_t tokens = std::min(kScoredTokens, count - begin);
      for (std::size_t i = 0; i < tokens; ++i) {
        auto key = keys.stored(static_cast<std::int32_t>(begin + i));
        if (rotation != nullptr) {
          turned.assign(key.begin(), key.end());
          rotation->turn(positions[begin + i], turned);
          key = turned;
        }
        double* const packed = packed_.data() + attention::packed_at(i, 0, size);
        for (std::size_t c = 0; c < size; ++c) packed[c * attention::kPackedTokens] = key[c];
      }
      attention::sum_rounded_products(packed_, queries_.data(), size, queries, sums);
      for (std::size_t q = 0; q < queries; ++q)
        for (std::size_t i = 0; i < tokens; ++i)
          logits_[first + q][begin + i] = sums[q * kScoredTokens + i] * in_.scale;
    }
  }
  if (in_.plain_logits()) return;
  for (std::size_t q = 0; q < logits_.size(); ++q) {
    const auto query_head = static_cast<std::int32_t>(static_cast<std::size_t>(head) * logits_.size() + q);
    for (std::size_t i = 0; i < count; ++i)
      logits_[q][i] = in_.logit(query_head, t, positions[i], logits_[q][i]);
  }
}

void AttentionOutput::compare_head(std::int64_t t, std::int32_t query_head, const Codec& codec,
                                   std::vector<double>& logits) {
  const std::int32_t head = query_head / codec.shape().group();
  const auto positions = codec.positions(head);
  const attention::RowView row = rows_->row(query_head);
  double& logit_error = logit_error_[static_cast<std::size_t>(query_head)];
  logit_error = 0;
  for (std::size_t i = 0; i < positions.size(); ++i)
    if (positions[i] >= in_.first_seen(t))
      logit_error = std::max(logit_error, std::fabs(row.logits[positions[i]] - logits[i]));

  gathered_.resize(positions.size());
  const std::vector<std::int32_t> stored(positions.begin(), positions.end());
  mass_[static_cast<std::size_t>(query_head)] = attention::gather(row.f64, stored, gathered_);

  const auto size = static_cast<std::size_t>(in_.value_size);
  const std::vector<double>& full = full_[static_cast<std::size_t>(query_head)];
  const double sum = attention::exp_with_sink(logits, in_.sink_logit(query_head)).sum;
  if (sum > 0) attention::assign_scaled(logits, sum, logits);
  if (codec.weight_use() != WeightUse::kNone)
    attention::accumulate(logits, codec.shape().group(), weights_[static_cast<std::size_t>(head)]);
  const Plane& values = codec.plane(Side::kValues, head);
  values_of_.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    values_of_[i] = values.stored(static_cast<std::int32_t>(i)).data();
  std::vector<double> part(size);
  attention::add_weighted(logits, values_of_, part);
  output_error_[static_cast<std::size_t>(query_head)] = attention::relative_difference(full, part);
}

/// Rows and outputs of the full cache at token t.
void AttentionOutput::seek(std::int64_t t) {
  if (t == at_) return;
  const Status sought = rows_->seek(t);
  KVPLAN_CHECK(sought.ok());  // cannot fail for tensors in memory
  at_ = t;
  for (std::size_t q = 0; q < full_.size(); ++q) {
    full_[q] = attention::attention_output(rows_->row(static_cast<std::int32_t>(q)), t + 1,
                                           {in_.values[q / logits_.size()].data(), in_.value_size});
  }
}

void AttentionOutput::compare(std::int64_t t, const Codec& codec, const Rotation* rotation) {
  seek(t);
  const std::int32_t group = codec.shape().group();
  for (std::int32_t head = 0; head < codec.shape().kv_heads; ++head) {
    stored_logits(t, head, codec, rotation);
    if (codec.weight_use() != WeightUse::kNone)
      weights_[static_cast<std::size_t>(head)].assign(codec.positions(head).size(), 0.0);
    for (std::int32_t q = 0; q < group; ++q)
      compare_head(t, head * group + q, codec, logits_[static_cast<std::size_t>(q)]);
  }
}

}  // namespace kvplan::formats
