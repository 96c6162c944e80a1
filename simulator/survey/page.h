// A survey as one self-contained page, and as one picture.
#pragma once

#include <string>

#include "simulator/survey/drawing.h"

namespace kvplan::survey {

/// All maps and tables with explanations; well-formed XML (report/html.h). `command`: the command line that makes this
/// page again.
std::string page(const Plots& plots, const std::vector<Map>& maps, const std::string& title,
                 const std::string& command);

/// The sheet as an SVG file of its own, in the colours of the reader's setting.
std::string document(const Sheet& sheet);

}  // namespace kvplan::survey
