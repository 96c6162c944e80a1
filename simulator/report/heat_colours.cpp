#include "simulator/report/heat_colours.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kvplan::report {
namespace {

/// Relative luminance of an sRGB colour, as WCAG 2 defines it: 0 is black, 1 is white.
double luminance(const Colour& colour) {
  const auto linear = [](int channel) {
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

}  // namespace

Colour heat_colour(double share) {
  // Pale sand, sky, deep blue: distinguishable in every kind of colour vision, since they differ in lightness.
  constexpr std::array<std::array<double, 3>, 3> kStops{{{246, 238, 214}, {86, 180, 233}, {8, 48, 98}}};
  const double place = std::clamp(share, 0.0, 1.0) * 2;
  const std::size_t from = place < 1 ? 0 : 1;
  const double rest = place - static_cast<double>(from);
  const auto channel = [&](std::size_t i) {
    return static_cast<int>(std::lround(kStops[from][i] + (kStops[from + 1][i] - kStops[from][i]) * rest));
  };
  return {channel(0), channel(1), channel(2)};
}

std::string hex(const Colour& colour) {
  std::string text = "#";
  for (const int channel : {colour.red, colour.green, colour.blue})
    for (const int digit : {channel / 16, channel % 16}) text += "0123456789abcdef"[digit];
  return text;
}

std::string ink_on(const Colour& colour) {
  const double l = luminance(colour);
  return (l + 0.05) / 0.05 >= 1.05 / (l + 0.05) ? "#000000" : "#ffffff";
}

}  // namespace kvplan::report
