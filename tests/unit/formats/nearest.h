// Rounding by looking at every value of a type: slow, and from the definition alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "simulator/formats/small_floats.h"

namespace kvplan::formats::test {

/// All values of a small type that are not negative, by their codes.
inline std::vector<double> values_of(const SmallFloat& type) {
  std::vector<double> out;
  for (int exponent = 0; exponent < (1 << type.exponent_bits); ++exponent)
    for (int mantissa = 0; mantissa < (1 << type.mantissa_bits); ++mantissa) {
      const int whole = exponent == 0 ? mantissa : mantissa + (1 << type.mantissa_bits);
      const double value = std::ldexp(whole, std::max(exponent, 1) - type.bias - type.mantissa_bits);
      if (value <= type.largest) out.push_back(value);
    }
  return out;
}

/// Index of the value nearest to `number` >= 0, with ties to even; the last one if `number` is larger than all.
inline std::size_t nearest_code(const std::vector<double>& values, double number) {
  const auto above =
      static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), number) - values.begin());
  if (above == 0) return 0;
  if (above == values.size()) return above - 1;
  const double low = number - values[above - 1];
  const double high = values[above] - number;
  return low < high || (low == high && above % 2 == 1) ? above - 1 : above;
}

inline double nearest(const std::vector<double>& values, double number) {
  const double size = values[nearest_code(values, std::fabs(number))];
  return number < 0 ? -size : size;
}

}  // namespace kvplan::formats::test
