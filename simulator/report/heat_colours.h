// Colours of heat maps: one scale for all of them, apart for every kind of colour vision, in light and dark.
#pragma once

#include <string>

namespace kvplan::report {

/// Red, green and blue from 0 to 255.
struct Colour {
  int red, green, blue;
};

/// Of a share from 0 to 1; what is outside counts as the nearer end. Its luminance falls all the way.
Colour heat_colour(double share);
/// "#f6eed6".
std::string hex(const Colour& colour);
/// Black on light colours, white on dark ones: whichever has the greater contrast.
std::string ink_on(const Colour& colour);

}  // namespace kvplan::report
