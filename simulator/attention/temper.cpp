#include "simulator/attention/temper.h"

#include <algorithm>

#include "simulator/attention/kernels.h"
#include "simulator/attention/tensor_rows.h"

namespace kvplan::attention {
namespace {

constexpr double kLogOfZero = -1e300;  // finite, and its exponential is 0

}  // namespace

std::span<const HeadRow> Temper::operator()(std::span<const HeadRow> heads, double tau) {
  if (tau == 1.0) return heads;
  rows_.assign(heads.begin(), heads.end());
  weights_.resize(heads.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const auto from = heads[h].weight;
    if (*std::max_element(from.begin(), from.end()) <= 0) continue;
    auto& to = weights_[h];
    to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] > 0 ? fixed_log(from[i]) / tau : kLogOfZero;
    const double sink = heads[h].sink;
    const SoftmaxSum all =
        exp_with_sink(to, sink > 0 ? fixed_log(sink) / tau : -std::numeric_limits<double>::infinity());
    rows_[h].divisor = all.sum;
    rows_[h].sink = all.sink_share;
    rows_[h].weight = to;
  }
  return rows_;
}

}  // namespace kvplan::attention
