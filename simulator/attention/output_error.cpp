#include "simulator/attention/output_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "simulator/attention/kernels.h"
#include "simulator/attention/tensor_rows.h"

namespace kvplan::attention {
namespace {

/// out += weight * v; plain loop over independent elements, so any vector width gives the same bits.
void add_scaled(double weight, const float* v, std::vector<double>& out) {
  double* o = out.data();
  const std::size_t n = out.size();
  for (std::size_t c = 0; c < n; ++c) o[c] += weight * static_cast<double>(v[c]);
}

double weight_at(RowView row, std::int64_t i) {
  return row.f64 != nullptr ? row.f64[i] : static_cast<double>(row.f32[i]);
}

}  // namespace

std::vector<double> attention_output(RowView row, std::int64_t tokens, ValueView values) {
  std::vector<double> out(static_cast<std::size_t>(values.size));
  for (std::int64_t i = 0; i < tokens; ++i) add_scaled(weight_at(row, i), values.data + i * values.size, out);
  return out;
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

double relative_output_error(RowView row, std::int64_t tokens, std::span<const std::int32_t> attended,
                             ValueView values) {
  return relative_output_error(attention_output(row, tokens, values), row, attended, values);
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
  for (std::size_t i = 0; i < attended.size(); ++i)
    if (sum > 0) add_scaled(weights[i] / sum, values.data + std::int64_t{attended[i]} * values.size, part);
  return relative_difference(output, part);
}

}  // namespace kvplan::attention
