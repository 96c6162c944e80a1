// Reads the frames of report files as messages: shared by the readers of report_file.h and report_result.h.
#pragma once

#include <functional>

#include "simulator/io/document_file.h"

namespace kvplan::v1 {
class Report;
class TimelineChunk;
}  // namespace kvplan::v1

namespace kvplan::io {

/// True if the file is a binary report. A .kvr file with other first bytes is a damaged report, unless it is text.
bool is_binary_report(traces::Input& input);

/// Errors: more than 32 MiB, not JSON, not a report.
Result<v1::Report> read_json_report(traces::Input& input);

/// The body of a binary report.
Result<v1::Report> read_report_body(DocumentReader& reader);

/// Calls `visit` for each part of the timeline, up to the end of the file.
Status each_timeline_chunk(
    DocumentReader& reader,
    const std::function<Status(const DocumentReader::Frame&, const v1::TimelineChunk&)>& visit);

}  // namespace kvplan::io
