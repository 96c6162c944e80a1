#include "simulator/io/report_file.h"

#include <algorithm>

#include "proto/report.pb.h"
#include "simulator/io/report_message.h"
#include "simulator/io/report_timeline.h"
#include "simulator/io/scenario_message.h"

namespace kvplan::io {
namespace {

constexpr std::size_t kMostJsonBytes = std::size_t{32} << 20;

/// A .kvr that begins with other bytes is a damaged one, unless it is text.
bool is_binary(traces::Input& input) {
  const std::string_view begin = input.peek(8);
  return document_kind(begin) == DocumentKind::kReport ||
         (is_named(input.path(), ".kvr") && begin.find('{') == std::string_view::npos);
}

Result<v1::Report> read_json(traces::Input& input) {
  const std::string text(input.take(kMostJsonBytes + 1));
  if (input.failed()) return input.error();
  if (text.size() > kMostJsonBytes)
    return bad_input("expected a report of at most 32 MiB").at_file(input.path());
  v1::Report message;
  KVPLAN_TRY_DO(parse_report(text, input.path(), message));
  return message;
}

Result<v1::Report> read_body(DocumentReader& reader) {
  KVPLAN_TRY(const std::string body, reader.body(DocumentKind::kReport));
  v1::Report message;
  if (!message.ParseFromString(body)) return reader.wrong("expected a Report message");
  return message;
}

/// Calls `visit` for each part of the timeline, up to the end of the file.
template <class Visit>
Status each_chunk(DocumentReader& reader, const Visit& visit) {
  for (;;) {
    KVPLAN_TRY(const auto frame, reader.next());
    if (!frame) return Done{};
    if (frame->type != kTimelineFrame) continue;
    v1::TimelineChunk chunk;
    if (!chunk.ParseFromString(frame->message)) return reader.wrong("expected a TimelineChunk message");
    KVPLAN_TRY_DO(visit(*frame, chunk));
  }
}

}  // namespace

bool looks_like_report(std::string_view begin) {
  return document_kind(begin) == DocumentKind::kReport || looks_like_report_json(begin);
}

Status write_report_binary(const plan::RunResult& result, bool timeline, const DocumentWriter::Sink& sink) {
  v1::Report message;
  KVPLAN_TRY_DO(fill_message(result, message));
  DocumentWriter writer(sink);
  KVPLAN_TRY_DO(writer.begin(DocumentKind::kReport, message.SerializeAsString()));
  for (std::size_t replica = 0; timeline && replica < result.replicas.size(); ++replica) {
    const std::size_t bins = result.replicas[replica].timeline.size();
    for (std::size_t begin = 0; begin < bins; begin += kChunkBins) {
      v1::TimelineChunk chunk;
      fill_message(result, replica, begin, std::min(begin + kChunkBins, bins), chunk);
      KVPLAN_TRY_DO(writer.add(kTimelineFrame, chunk.SerializeAsString()));
    }
  }
  return writer.finish();
}

Result<ReportFile> read_report(traces::Input& input) {
  ReportFile out;
  v1::Report message;
  if (is_binary(input)) {
    DocumentReader reader(input);
    KVPLAN_TRY(message, read_body(reader));
    TimelineLines lines;
    KVPLAN_TRY_DO(each_chunk(reader, [&](const auto&, const v1::TimelineChunk& chunk) -> Status {
      const Result<std::string> checked = lines.add(chunk);
      if (!checked.ok()) return reader.wrong(checked.error().message);
      out.timeline = true;
      return Done{};
    }));
  } else {
    KVPLAN_TRY(message, read_json(input));
  }
  out.later_fields = holds_unknown_fields(message);
  Result<std::string> json = report_json(message);
  if (!json.ok()) return std::move(json).error().at_file(input.path());
  out.json = std::move(json).value();
  return out;
}

Status copy_report_binary(traces::Input& input, const DocumentWriter::Sink& sink) {
  DocumentWriter writer(sink);
  if (!is_binary(input)) {
    KVPLAN_TRY(const v1::Report message, read_json(input));
    KVPLAN_TRY_DO(writer.begin(DocumentKind::kReport, message.SerializeAsString()));
    return writer.finish();
  }
  DocumentReader reader(input);
  KVPLAN_TRY(const v1::Report message, read_body(reader));
  KVPLAN_TRY_DO(writer.begin(DocumentKind::kReport, message.SerializeAsString()));
  KVPLAN_TRY_DO(each_chunk(reader, [&](const DocumentReader::Frame& frame, const auto&) {
    return writer.add(kTimelineFrame, frame.message);
  }));
  return writer.finish();
}

Status copy_timeline_csv(traces::Input& input, const DocumentWriter::Sink& sink) {
  bool any = false;
  if (is_binary(input)) {
    DocumentReader reader(input);
    KVPLAN_TRY([[maybe_unused]] const v1::Report message, read_body(reader));
    TimelineLines lines;
    KVPLAN_TRY_DO(each_chunk(reader, [&](const auto&, const v1::TimelineChunk& chunk) -> Status {
      any = true;
      Result<std::string> text = lines.add(chunk);
      if (!text.ok()) return reader.wrong(text.error().message);
      return sink(text.value());
    }));
  }
  if (any) return Done{};
  return bad_input("holds no timeline; kvplan run writes one into a binary report with --timeline")
      .at_file(input.path());
}

}  // namespace kvplan::io
