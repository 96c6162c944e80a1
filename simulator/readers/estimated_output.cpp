#include "simulator/readers/estimated_output.h"

#include <vector>

#include "simulator/attention/output_error.h"
#include "simulator/attention/tensor_rows.h"

namespace kvplan::readers {

double estimated_output_error(std::span<const double> output, attention::RowView row, const ReadSet& set,
                              std::span<const Estimate> estimates, attention::ValueView values) {
  std::vector<double> weights;
  for (const std::int32_t position : set) weights.push_back(row.logits[position]);
  for (const Estimate& each : estimates) weights.push_back(each.logit);
  double sum = attention::exp_with_sink(weights, row.sink_logit).sum;
  for (std::size_t i = 0; i < estimates.size(); ++i)
    sum += (estimates[i].tokens - 1) * weights[set.size() + i];
  std::vector<double> part(output.size());
  for (std::size_t i = 0; i < set.size(); ++i) {
    const float* value = values.data + std::int64_t{set[i]} * values.size;
    for (std::size_t c = 0; c < part.size(); ++c) part[c] += weights[i] / sum * static_cast<double>(value[c]);
  }
  for (std::size_t i = 0; i < estimates.size(); ++i)
    for (std::size_t c = 0; c < part.size(); ++c)
      part[c] += weights[set.size() + i] / sum * estimates[i].values[c];
  return attention::relative_difference(output, part);
}

}  // namespace kvplan::readers
