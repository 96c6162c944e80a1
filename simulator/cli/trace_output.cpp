#include "simulator/cli/trace_output.h"

#include <cstdio>
#include <filesystem>
#include <string_view>

#include "simulator/base/utf8.h"
#include "simulator/cli/command.h"
#include "simulator/report/number_text.h"
#include "traces/io/kvt.h"
#include "traces/io/text_export.h"

namespace kvplan::cli {
namespace {

void note(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
}

/// Prints each thing that was noticed on a line of its own.
void note_warnings(const traces::StreamSummary& summary) {
  for (const std::string& warning : summary.provenance.warnings) note("warning: " + printable(warning));
}

/// The name of the file without .gz or .zst.
std::string plain_name(const std::string& path) {
  const std::filesystem::path name = std::filesystem::path(path).filename();
  const bool compressed = name.extension() == ".gz" || name.extension() == ".zst";
  return (compressed ? name.stem() : name).string();
}

bool is_kvt_name(const std::string& path) {
  constexpr std::string_view kEnding = ".kvt";
  const std::string name = plain_name(path);
  return name.size() >= kEnding.size() && name.substr(name.size() - kEnding.size()) == kEnding;
}

/// Prints what was written, its request rate as a check of the time unit, and what was noticed.
void note_written(const traces::WrittenTrace& written, const std::string& path) {
  std::string text = printable(path) + ": " + report::grouped(written.requests) + " requests from " +
                     written.summary.provenance.format;
  if (written.summary.shares_clock && written.span_ns > 0) {
    const double span_s = static_cast<double>(written.span_ns) / static_cast<double>(kNsPerSecond);
    text += " over " + report::fixed(span_s, 3) + " s, " +
            report::fixed(static_cast<double>(written.requests - 1) / span_s, 3) + " per second";
  }
  note(text + ", digest " + written.summary.digest);
  note_warnings(written.summary);
}

Status write_kvt_trace(traces::TraceStream& stream, const std::string& path) {
  KVPLAN_TRY(const traces::WrittenTrace written, traces::write_kvt(stream, path, interrupted));
  note_written(written, path);
  return Done{};
}

}  // namespace

Status check_trace_output(const std::string& path) {
  traces::TextFormat format{};
  if (traces::text_format_from(path, format) || is_kvt_name(path)) return Done{};
  return bad_input("expected an ending .kvt, .csv or .jsonl, before .gz or .zst if any")
      .at_file(path)
      .at_field("--output");
}

Status check_import_output(const std::string& path) {
  return plain_name(path).find('.') == std::string::npos ? Status(Done{}) : check_trace_output(path);
}

Status write_trace(traces::TraceStream& stream, const std::string& path) {
  traces::TextFormat format{};
  if (!traces::text_format_from(path, format)) return write_kvt_trace(stream, path);
  KVPLAN_TRY_DO(traces::write_text_trace(stream, format, path, interrupted));
  note_warnings(stream.summary());  // a table cannot contain the warnings
  if (format == traces::TextFormat::kCsv && stream.summary().block_tokens > 0)
    note("warning: a CSV file cannot hold prefix ids: convert to .jsonl or .kvt to keep them");
  return Done{};
}

}  // namespace kvplan::cli
