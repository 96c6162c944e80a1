// Scenario files: JSON (scenario_json.h) or the binary form (.kvs; proto/scenario.proto, DOCUMENT_FORMAT.md). The
// first bytes tell which. Paths in a scenario file are relative to its folder; in settings, to the working
// directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/io/document_file.h"
#include "simulator/scenario/scenario.h"
#include "traces/io/input.h"

namespace kvplan::io {

/// True: a file that begins so is a scenario in either form, and not a trace. 4,096 bytes are enough.
bool looks_like_scenario(std::string_view begin);

/// Errors have the file, and line or byte if known. At most 1 MiB of JSON.
Result<std::vector<runs::Setting>> read_scenario(traces::Input& input);
Result<std::vector<runs::Setting>> read_scenario(const std::string& path);

/// The binary form of a resolved scenario, for a file at `path` (paths become relative to its folder; "-": the
/// working directory).
Status write_scenario_binary(runs::Scenario scenario, const std::string& path,
                             const DocumentWriter::Sink& sink);
/// The JSON form, with all values and their origins, for a file at `path`.
Result<std::string> scenario_json(runs::Scenario scenario, const std::string& path);

}  // namespace kvplan::io
