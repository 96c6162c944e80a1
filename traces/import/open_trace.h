// Opens traces for the rest of the program: a .kvt or any importable file, recognised by content.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "traces/import/importer.h"
#include "traces/record/trace_stream.h"

namespace kvplan::traces {

/// A stream over one file, or over several of one format that follow each other and share a clock and prefix ids.
/// Options are for imports; with a .kvt they are an error. `on_read` is called for every read of the files
/// (traces/io/input.h).
Result<std::unique_ptr<TraceStream>> open_stream(const std::vector<std::string>& paths,
                                                 const ImportOptions& options = {},
                                                 const ReadHook& on_read = {});

/// The same for inputs that are already open.
Result<std::unique_ptr<TraceStream>> open_stream(Inputs inputs, const ImportOptions& options);

/// The whole trace in memory.
Result<Trace> open_trace(const std::string& path, const ImportOptions& options = {},
                         const ReadHook& on_read = {});

}  // namespace kvplan::traces
