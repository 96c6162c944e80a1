// Colours of heat maps: one scale for all of them, readable with every kind of colour vision, in light and dark themes.
#pragma once

#include <string>

namespace kvplan::report {

/// Red, green and blue from 0 to 255.
struct Colour {
  int red, green, blue;
};

/// Colour of a share from 0 to 1; values outside are clamped. Luminance falls monotonically.
Colour heat_colour(double share);
/// "#f6eed6".
std::string hex(const Colour& colour);
/// Black or white, whichever has the greater contrast.
std::string ink_on(const Colour& colour);

}  // namespace kvplan::report
