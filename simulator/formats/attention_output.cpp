#include "simulator/formats/attention_output.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/attention/kernels.h"
#include "simulator/attention/output_error.h"
#include "simulator/formats/loops.h"

namespace kvplan::formats {
namespace {

constexpr std::size_t kTile = 8;  ///< tokens per inner loop

}  // namespace

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
  const Plane& keys = codec.plane(Side::kKeys, head);
  const auto positions = codec.positions(head);
  const auto size = static_cast<std::size_t>(keys.size());
  const auto count = static_cast<std::size_t>(keys.tokens());
  for (auto& logits : logits_) logits.resize((count + kTile - 1) / kTile * kTile);
  std::vector<double> tile(size * kTile);
  std::vector<double> turned;
  for (std::size_t begin = 0; begin < count; begin += kTile) {
    for (std::size_t i = 0; i < kTile && begin + i < count; ++i) {
      auto key = keys.stored(static_cast<std::int32_t>(begin + i));
      if (rotation != nullptr) {
        turned.assign(key.begin(), key.end());
        rotation->turn(positions[begin + i], turned);
        key = turned;
      }
      for (std::size_t c = 0; c < size; ++c) tile[c * kTile + i] = key[c];
    }
    for (std::size_t q = 0; q < logits_.size(); ++q) {
      const auto of_head = static_cast<std::size_t>(head) * logits_.size() + q;
      const float* query = in_.queries[of_head].data() + static_cast<std::size_t>(t) * size;
      std::array<double, kTile> sums{};
      for (std::size_t c = 0; c < size; ++c) {
        const auto x = static_cast<double>(query[c]);
        for (std::size_t i = 0; i < kTile; ++i) sums[i] += x * tile[c * kTile + i];
      }
      for (std::size_t i = 0; i < kTile; ++i) logits_[q][begin + i] = sums[i] * in_.scale;
    }
  }
  for (std::size_t q = 0; q < logits_.size(); ++q) {
    logits_[q].resize(count);
    if (in_.plain_logits()) continue;
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
  std::vector<double> part(size);
  for (std::size_t i = 0; i < logits.size(); ++i)
    add_scaled(logits[i], values.stored(static_cast<std::int32_t>(i)).data(), part.data(), size);
  output_error_[static_cast<std::size_t>(query_head)] = attention::relative_difference(full, part);
}

/// Rows and outputs of the full cache at token t.
void AttentionOutput::seek(std::int64_t t) {
  if (t == at_) return;
  const Status sought = rows_->seek(t);
  KVPLAN_CHECK(sought.ok());  // tensors in memory
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
