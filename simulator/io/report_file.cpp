#include "simulator/io/report_file.h"

#include <algorithm>

#include "proto/report.pb.h"
#include "simulator/io/report_body.h"
#include "simulator/io/report_message.h"
#include "simulator/io/report_timeline.h"
#include "simulator/io/scenario_message.h"

namespace kvplan::io {

bool looks_like_report(std::string_view begin) {
  return document_kind(begin) == DocumentKind::kReport || looks_like_report_json(begin);
}

Status write_report_binary(const runs::RunResult& result, bool timeline, const DocumentWriter::Sink& sink) {
  v1::Report message;
  KVPLAN_TRY_DO(fill_message(result, message));
  DocumentWriter writer(sink);
  KVPLAN_TRY_DO(writer.begin(DocumentKind::kReport, message.SerializeAsString()));
  for (std::size_t replica = 0; timeline && replica < result.replicas.size(); ++replica) {
    const std::size_t bins = result.details[replica].timeline.size();
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
  if (is_binary_report(input)) {
    DocumentReader reader(input);
    KVPLAN_TRY(message, read_report_body(reader));
    TimelineLines lines;
    KVPLAN_TRY_DO(each_timeline_chunk(reader, [&](const auto&, const v1::TimelineChunk& chunk) -> Status {
      const Result<std::string> checked = lines.add(chunk);
      if (!checked.ok()) return reader.wrong(checked.error().message);
      out.timeline = true;
      return Done{};
    }));
  } else {
    KVPLAN_TRY(message, read_json_report(input));
  }
  out.later_fields = holds_unknown_fields(message);
  Result<std::string> json = report_json(message);
  if (!json.ok()) return std::move(json).error().at_file(input.path());
  out.json = std::move(json).value();
  return out;
}

Status copy_report_binary(traces::Input& input, const DocumentWriter::Sink& sink) {
  DocumentWriter writer(sink);
  if (!is_binary_report(input)) {
    KVPLAN_TRY(const v1::Report message, read_json_report(input));
    KVPLAN_TRY_DO(writer.begin(DocumentKind::kReport, message.SerializeAsString()));
    return writer.finish();
  }
  DocumentReader reader(input);
  KVPLAN_TRY(const v1::Report message, read_report_body(reader));
  KVPLAN_TRY_DO(writer.begin(DocumentKind::kReport, message.SerializeAsString()));
  KVPLAN_TRY_DO(each_timeline_chunk(reader, [&](const DocumentReader::Frame& frame, const auto&) {
    return writer.add(kTimelineFrame, frame.message);
  }));
  return writer.finish();
}

Status copy_timeline_csv(traces::Input& input, const DocumentWriter::Sink& sink) {
  bool any = false;
  if (is_binary_report(input)) {
    DocumentReader reader(input);
    KVPLAN_TRY([[maybe_unused]] const v1::Report message, read_report_body(reader));
    TimelineLines lines;
    KVPLAN_TRY_DO(each_timeline_chunk(reader, [&](const auto&, const v1::TimelineChunk& chunk) -> Status {
      any = true;
      Result<std::string> text = lines.add(chunk);
      if (!text.ok()) return reader.wrong(text.error().message);
      return sink(text.value());
    }));
  }
  if (any) return Done{};
  return bad_input("the report has no timeline: `kvplan run` writes one into a binary report with --timeline")
      .at_file(input.path());
}

}  // namespace kvplan::io
