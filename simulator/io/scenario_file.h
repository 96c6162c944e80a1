// Scenario files: JSON (scenario_json.h) or the binary form (.kvs; proto/scenario.proto, DOCUMENT_FORMAT.md),
// told apart by their first bytes. Paths of files in a scenario count from the folder of the scenario file;
// as settings they count from the working directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/io/document_file.h"
#include "simulator/scenario/scenario.h"
#include "traces/io/input.h"

namespace kvplan::io {

/// True if a file begins like a scenario of either form, not like a trace. 4,096 bytes are enough.
bool looks_like_scenario(std::string_view begin);

/// Errors carry the file, and line or byte where known. At most 1 MiB of JSON.
Result<std::vector<plan::Setting>> read_scenario(traces::Input& input);
Result<std::vector<plan::Setting>> read_scenario(const std::string& path);

/// The binary form of a resolved scenario, for a file at `path` (paths of files are made relative to its
/// folder;
/// "-": the working directory).
Status write_scenario_binary(plan::Scenario scenario, const std::string& path,
                             const DocumentWriter::Sink& sink);
/// The JSON form, with all values and their origins, likewise.
Result<std::string> scenario_json(plan::Scenario scenario, const std::string& path);

}  // namespace kvplan::io
