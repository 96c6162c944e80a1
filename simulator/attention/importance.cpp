#include "simulator/attention/importance.h"

#include <algorithm>

namespace kvplan::attention {

Importance::Importance(const Choice& choice) : gamma_(choice.decimal(kGammaParam.name)) {
  const std::string& kind = choice.text(kImportanceParam.name);
  kind_ = kind == "mean" ? Kind::kMean : kind == "decay" ? Kind::kDecay : Kind::kMax;
}

void Importance::update(Residents& residents, Weights weights) const {
  const auto sum = residents.column(0);
  if (kind_ == Kind::kMax) {
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] = std::max(sum[i], weights.value[i] / weights.divisor);
    return;
  }
  const auto count = residents.column(1);
  const double fade = kind_ == Kind::kDecay ? gamma_ : 1.0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = fade * sum[i] + weights.value[i] / weights.divisor;
    count[i] = fade * count[i] + 1.0;
  }
}

std::span<const double> Importance::of(const Residents& residents, std::int32_t begin, std::int32_t end) {
  const auto first = static_cast<std::size_t>(begin);
  const auto n = static_cast<std::size_t>(end - begin);
  const auto sum = residents.column(0).subspan(first, n);
  if (kind_ == Kind::kMax) return sum;
  const auto count = residents.column(1).subspan(first, n);
  values_.resize(n);
  for (std::size_t i = 0; i < n; ++i) values_[i] = sum[i] / count[i];
  return values_;
}

Candidates unprotected(const Residents& residents, std::int64_t sink, std::int64_t recent) {
  const auto positions = residents.positions();
  const auto begin = static_cast<std::int32_t>(std::lower_bound(positions.begin(), positions.end(), sink) -
                                               positions.begin());
  const auto end = static_cast<std::int32_t>(std::max<std::int64_t>(residents.size() - recent, 0));
  return {.begin = begin, .end = std::max(begin, end)};
}

}  // namespace kvplan::attention
