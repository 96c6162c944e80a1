// Scenarios as JSON as people write it, read into settings with their lines. Objects nest along the dots
// of a path; a component is a text "NAME:key=value,..." or an object with "name" and its parameters; null
// leaves the default. The object "scenario_origins", which kvplan writes beside a resolved scenario, says
// which values were defaults; the key "view" (of a session of the desktop program) says nothing about a run
// and is left out. Files are scenario_file.h's part.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace kvplan::io {

/// True if the text begins like a scenario (an object whose first key is one of a scenario's), not like a
/// trace.
bool looks_like_scenario_json(std::string_view begin);

/// Errors carry file and line. Texts are as they stand there, those that name files too.
Result<std::vector<plan::Setting>> parse_scenario(std::string_view text, const std::string& path);

/// Gives settings their origins: "given" or "default" by path, as in "scenario_origins".
void apply_origins(const std::map<std::string, std::string>& origins, std::vector<plan::Setting>& settings);

}  // namespace kvplan::io
