#include "simulator/attention/temper.h"

#include <algorithm>

#include "simulator/attention/kernels.h"

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
    rows_[h].divisor = exp_from_max(to);
    rows_[h].weight = to;
  }
  return rows_;
}

}  // namespace kvplan::attention
