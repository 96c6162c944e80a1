// Report files (.kvr): the report of a run in binary form (proto/report.proto, DOCUMENT_FORMAT.md), and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "simulator/io/document_file.h"
#include "simulator/run/run.h"

namespace kvplan::io {

/// True: a file that begins so is a report, JSON or binary. 4,096 bytes are enough.
bool looks_like_report(std::string_view begin);

/// Writes the report of a result. `timeline`: also the bins that were requested for the run.
Status write_report_binary(const runs::RunResult& result, bool timeline, const DocumentWriter::Sink& sink);

/// The contents of a report file of either form.
struct ReportFile {
  std::string json;          ///< the bytes of the run's JSON report
  bool later_fields{false};  ///< true: fields of a later version were left out
  bool timeline{false};      ///< true: the file has a timeline, which the JSON form does not have
};
/// Errors have the file, and byte or key if known. At most 32 MiB of JSON.
Result<ReportFile> read_report(traces::Input& input);

/// Writes a report file in binary form. Copying a binary file gives the same bytes, timeline included, except for
/// fields of later versions.
Status copy_report_binary(traces::Input& input, const DocumentWriter::Sink& sink);

/// Writes the timeline of a binary report as CSV, in pieces. Error: there is none.
Status copy_timeline_csv(traces::Input& input, const DocumentWriter::Sink& sink);

}  // namespace kvplan::io
