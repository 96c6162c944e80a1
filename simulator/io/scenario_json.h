// Hand-written JSON scenarios, read into settings with their lines. Objects nest along the dots of a path; a
// component is a text "NAME:key=value,..." or an object with "name" and its parameters; null means the default. The
// object "scenario_origins", which kvplan writes beside a resolved scenario, says which values were defaults; the key
// "view" (from a session of the desktop program) does not concern the run and is ignored. scenario_file.h reads
// files.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace kvplan::io {

/// True: the text begins like a scenario (an object with a scenario's key first), not like a trace.
bool looks_like_scenario_json(std::string_view begin);

/// Errors have file and line. Texts are returned unchanged, paths too.
Result<std::vector<runs::Setting>> parse_scenario(std::string_view text, const std::string& path);

/// Gives settings their origins: "given" or "default" by path, as in "scenario_origins".
void apply_origins(const std::map<std::string, std::string>& origins, std::vector<runs::Setting>& settings);

}  // namespace kvplan::io
