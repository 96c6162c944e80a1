// Scenario files: JSON as people write it, read into settings with their lines. Objects nest along the dots
// of a path; a component is a text "NAME:key=value,..." or an object with "name" and its parameters; null
// leaves the default. The keys "scenario_origins" (of a report) and "view" (of a session of the desktop
// program) say nothing about a run and are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/plan/scenario.h"

namespace kvplan::io {

/// True if the text begins like a scenario (an object whose first key is one of a scenario's), not like a
/// trace.
bool looks_like_scenario(std::string_view begin);

/// Errors carry file and line. Relative paths of files in it are made relative to its folder.
Result<std::vector<plan::Setting>> parse_scenario(std::string_view text, const std::string& path);

/// The same from a file of at most 1 MiB.
Result<std::vector<plan::Setting>> read_scenario(const std::string& path);

}  // namespace kvplan::io
