#include "simulator/attention/output_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "simulator/attention/kernels.h"
#include "simulator/attention/tensor_rows.h"

namespace kvplan::attention {
namespace {

double weight_at(RowView row, std::int64_t i) {
  return row.f64 != nullptr ? row.f64[i] : static_cast<double>(row.f32[i]);
}

}  // namespace

std::vector<double> attention_output(RowView row, std::int64_t tokens, ValueView values) {
  std::vector<double> out(static_cast<std::size_t>(values.size));
  std::vector<double> weights(static_cast<std::size_t>(tokens));
  std::vector<const float*> of_tokens(weights.size());
  for (std::int64_t i = 0; i < tokens; ++i) {
    weights[static_cast<std::size_t>(i)] = weight_at(row, i);
    of_tokens[static_cast<std::size_t>(i)] = values.data + i * values.size;
  }
  add_weighted(weights, of_tokens, out);
  return out;
}

std::span<const double> FullOutputs::of(const LayerRows& rows, std::int64_t tokens, std::int32_t head) {
  const auto h = static_cast<std::size_t>(head);
  if (outputs_.size() <= h) outputs_.resize(h + 1);
  Output& output = outputs_[h];
  if (output.tokens != tokens)
    output = {tokens, attention_output(rows.exact_row(head), tokens, rows.values(head))};
  return output.numbers;
}

double relative_difference(std::span<const double> output, std::span<const double> other) {
  double off = 0;
  double whole = 0;
  for (std::size_t c = 0; c < output.size(); ++c) {
    off += (output[c] - other[c]) * (output[c] - other[c]);
    whole += output[c] * output[c];
  }
  if (whole > 0) return std::sqrt(off) / std::sqrt(whole);
  return off > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

double relative_output_error(std::span<const double> output, RowView row,
                             std::span<const std::int32_t> attended, ValueView values) {
  std::vector<double> weights(attended.size());
  double sum = 0;
  if (row.logits != nullptr && !attended.empty()) {
    gather(row.logits, attended, weights);
    sum = exp_with_sink(weights, row.sink_logit).sum;
  } else {
    for (std::size_t i = 0; i < attended.size(); ++i) sum += weights[i] = weight_at(row, attended[i]);
    sum += row.sink;
  }
  std::vector<double> part(output.size());
  if (sum > 0) {
    std::vector<const float*> of_tokens(attended.size());
    for (std::size_t i = 0; i < attended.size(); ++i) {
      weights[i] /= sum;
      of_tokens[i] = values.data + std::int64_t{attended[i]} * values.size;
    }
    add_weighted(weights, of_tokens, part);
  }
  return relative_difference(output, part);
}

}  // namespace kvplan::attention
