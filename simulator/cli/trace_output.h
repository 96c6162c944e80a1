// Writes traces: as .kvt, or as text if the name of the file says so.
#pragma once

#include <string>

#include "simulator/base/result.h"
#include "traces/record/trace_stream.h"

namespace kvplan::cli {

/// Checks that the ending can be written: .kvt, .csv, .jsonl, before .gz or .zst if any.
Status check_trace_output(const std::string& path);

/// As check_trace_output, for `import`, where a name without ending means a .kvt.
Status check_import_output(const std::string& path);

/// Writes the stream, and says on standard error what was written and noticed. REQUIRES: the path was checked.
Status write_trace(traces::TraceStream& stream, const std::string& path);

}  // namespace kvplan::cli
