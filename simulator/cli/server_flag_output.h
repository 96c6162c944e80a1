// Flags of an engine's server, as `kvplan explain`, `kvplan list --json` and the pages of components show them.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/json_writer.h"

namespace kvplan::cli {

/// "--max-num-seqs sets engine.max_seqs; default 256, 1024 on devices ...": a line for each flag of the engine with
/// this scheduler, and for each variable of its environment; none for other descriptors.
std::vector<std::string> server_flag_lines(const Descriptor& descriptor);

/// `"server_flags": [{flag, alias, path, sets, default, note, values}]` and
/// `"server_variables": [{name, path, sets, default}]`, where the descriptor has any flags.
void write_server_flags(JsonWriter& json, const Descriptor& descriptor);

}  // namespace kvplan::cli
