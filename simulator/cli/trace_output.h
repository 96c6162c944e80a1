// Traces out: as .kvt, or as text where the name of the file says so.
#pragma once

#include <string>

#include "simulator/base/result.h"
#include "traces/record/trace_stream.h"

namespace kvplan::cli {

/// The ending is one that can be written: .kvt, .csv, .jsonl, before .gz or .zst if any.
Status check_trace_output(const std::string& path);

/// The same for `import`, whose name may also have no ending: then it is a .kvt.
Status check_import_output(const std::string& path);

/// Writes the stream and says on standard error what was written and what was noticed. REQUIRES: the path was
/// checked.
Status write_trace(traces::TraceStream& stream, const std::string& path);

}  // namespace kvplan::cli
