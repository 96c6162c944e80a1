// Writes traces as text that other tools (and kvplan) can read.
#pragma once

#include <string>

#include "traces/io/output.h"
#include "traces/record/trace_stream.h"

namespace kvplan::traces {

enum class TextFormat : std::uint8_t {
  kCsv,  ///< arrival_ns,input_tokens,output_tokens and the optional columns that the first piece has; no
         ///< prefix ids
  kJsonLines,  ///< with prefix ids Mooncake's rows: timestamp in ms, input_length, output_length, hash_ids,
               ///< session_id, max_tokens; without, rows with the names of the CSV
};

/// The format that the file's ending names, before .gz or .zst: true with the format, or false for any other ending.
bool text_format_from(const std::string& path, TextFormat& format);

/// Writes the stream as text to `path`, which appears complete or not at all. `stop` as in write_kvt.
Status write_text_trace(TraceStream& stream, TextFormat format, const std::string& path, bool (*stop)());

}  // namespace kvplan::traces
