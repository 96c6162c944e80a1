// Report files (.kvr): the report of a run in binary form (proto/report.proto, DOCUMENT_FORMAT.md), and its
// JSON.
#pragma once

#include <string>
#include <string_view>

#include "simulator/io/document_file.h"
#include "simulator/run/run.h"

namespace kvplan::io {

/// True if a file begins like a report, JSON or binary. 4,096 bytes are enough.
bool looks_like_report(std::string_view begin);

/// The report of a result. `timeline`: with the bins that the run was asked for.
Status write_report_binary(const plan::RunResult& result, bool timeline, const DocumentWriter::Sink& sink);

/// What is in a report file of either form.
struct ReportFile {
  std::string json;          ///< the bytes of the run's JSON report
  bool later_fields{false};  ///< some were left out: a later version wrote them
  bool timeline{false};      ///< there is one, which JSON has no place for
};
/// Errors carry the file, and byte or key where known. At most 32 MiB of JSON.
Result<ReportFile> read_report(traces::Input& input);

/// A report file as a binary one; a binary one becomes the same again, timeline included, less what is left
/// out.
Status copy_report_binary(traces::Input& input, const DocumentWriter::Sink& sink);

/// The timeline of a binary report as CSV, in pieces. Error: there is none.
Status copy_timeline_csv(traces::Input& input, const DocumentWriter::Sink& sink);

}  // namespace kvplan::io
