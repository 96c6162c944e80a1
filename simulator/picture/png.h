// An SVG as a PNG, by librsvg and Cairo. Both are optional: without them every call is an error that says what to
// install. They are loaded when a picture is asked for, not when the program starts: with all that they stand on that
// would take longer than a small run.
#pragma once

#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::picture {

/// Most pixels along a side, and in all.
inline constexpr int kMostSide = 32767;
inline constexpr int kMostPixels = 1 << 28;

/// Pixels.
struct Size {
  int width{0}, height{0};
};

/// The bytes of a PNG of this size, with the whole of `svg` fitted into it; what it does not paint is transparent. No
/// other file is read but fonts. librsvg knows no variables of style sheets: resolve them before (report/charts.h).
/// Errors: the program was built without it, the libraries are not there, a size outside the limits, no SVG.
Result<std::string> png_of_svg(std::string_view svg, Size size);

}  // namespace kvplan::picture
