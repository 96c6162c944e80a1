#include "simulator/formats/quantisers.h"

#include <algorithm>
#include <cmath>

#include "simulator/formats/small_floats.h"

namespace kvplan::formats {

ScaleZero quantise_between(const Group& group, int bits) {
  double least = group.x[0];
  double greatest = group.x[0];
  for (std::size_t i = 1; i < group.count; ++i) {
    least = std::min(least, group.x[i * group.stride]);
    greatest = std::max(greatest, group.x[i * group.stride]);
  }
  const auto steps = static_cast<double>((1 << bits) - 1);
  const ScaleZero out{.scale = to_half((greatest - least) / steps), .zero = to_half(least)};
  for (std::size_t i = 0; i < group.count; ++i) {
    double& x = group.x[i * group.stride];
    double code = 0;
    if (out.scale > 0) code = std::clamp(std::nearbyint((x - out.zero) / out.scale), 0.0, steps);
    group.codes[i * group.stride] = static_cast<std::uint8_t>(code);
    x = code * out.scale + out.zero;
  }
  return out;
}

void quantise_symmetric(const Group& group, int bits, double scale, Rounding rounding) {
  const auto most = static_cast<double>(greatest_code(bits));
  for (std::size_t i = 0; i < group.count; ++i) {
    double& x = group.x[i * group.stride];
    double code = 0;
    if (scale > 0) {
      const double ratio = x / scale;
      code = rounding == Rounding::kEven ? std::nearbyint(ratio) : std::trunc(ratio);
      code = std::clamp(code, -most - 1, most);
    }
    const auto whole = static_cast<std::int8_t>(code);
    group.codes[i * group.stride] = static_cast<std::uint8_t>(whole);
    x = static_cast<double>(whole) * scale;
  }
}

double greatest_size(std::span<const double> x) {
  double out = 0;
  for (const double v : x) out = std::max(out, std::fabs(v));
  return out;
}

}  // namespace kvplan::formats
