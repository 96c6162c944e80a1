#include "simulator/attention/rotary.h"

#include "simulator/base/real.h"

namespace kvplan::attention {

double Rotary::frequency(std::int32_t pair) const {
  if (!inverse_frequencies.empty()) return inverse_frequencies[static_cast<std::size_t>(pair)];
  return power(base, -2.0 * pair / dims) / linear_factor;
}

void unrotate(const Rotary& rotary, std::int64_t position, std::span<double> head) {
  for (std::int32_t pair = 0; pair < rotary.dims / 2; ++pair) {
    const auto [sine, cosine] = sine_cosine(static_cast<double>(position) * rotary.frequency(pair));
    double& low = head[static_cast<std::size_t>(rotary.low(pair))];
    double& high = head[static_cast<std::size_t>(rotary.high(pair))];
    const double turned = low;
    low = (turned * cosine + high * sine) / rotary.amplitude;
    high = (high * cosine - turned * sine) / rotary.amplitude;
  }
}

}  // namespace kvplan::attention
