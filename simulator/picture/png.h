// Renders an SVG as a PNG with librsvg and Cairo. Both are optional: without them every call is an error that says
// what to install. They are loaded when a picture is asked for, not at start: loading them and their dependencies
// takes longer than a small run.
#pragma once

#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::picture {

/// Most pixels along one side, and in total.
inline constexpr int kMostSide = 32767;
inline constexpr int kMostPixels = 1 << 28;

/// Size in pixels.
struct Size {
  int width{0}, height{0};
};

/// The bytes of a PNG of this size, with the whole of `svg` fitted into it; unpainted pixels are transparent. Reads
/// no other files except fonts. librsvg does not know CSS variables: resolve them before (report/charts.h). Errors:
/// the program was built without it, the libraries are missing, a size outside the limits, not an SVG.
Result<std::string> png_of_svg(std::string_view svg, Size size);

}  // namespace kvplan::picture
