// A survey as one page that stands alone, and as one picture.
#pragma once

#include <string>

#include "simulator/survey/drawing.h"

namespace kvplan::survey {

/// All maps and tables, and what they are; well-formed XML (report/html.h). `command` is the line that makes it again.
std::string page(const Plots& plots, const std::vector<Map>& maps, const std::string& title,
                 const std::string& command);

/// The sheet as an SVG file of its own, in the colours of the reader's setting.
std::string document(const Sheet& sheet);

}  // namespace kvplan::survey
