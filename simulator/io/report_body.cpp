#include "simulator/io/report_body.h"

#include "proto/report.pb.h"
#include "simulator/io/report_message.h"

namespace kvplan::io {
namespace {

constexpr std::size_t kMostJsonBytes = std::size_t{32} << 20;

}  // namespace

bool is_binary_report(traces::Input& input) {
  const std::string_view begin = input.peek(8);
  return document_kind(begin) == DocumentKind::kReport ||
         (is_named(input.path(), ".kvr") && begin.find('{') == std::string_view::npos);
}

Result<v1::Report> read_json_report(traces::Input& input) {
  const std::string text(input.take(kMostJsonBytes + 1));
  if (input.failed()) return input.error();
  if (text.size() > kMostJsonBytes)
    return bad_input("expected a report of at most 32 MiB").at_file(input.path());
  v1::Report message;
  KVPLAN_TRY_DO(parse_report(text, input.path(), message));
  return message;
}

Result<v1::Report> read_report_body(DocumentReader& reader) {
  KVPLAN_TRY(const std::string body, reader.body(DocumentKind::kReport));
  v1::Report message;
  if (!message.ParseFromString(body)) return reader.wrong("expected a Report message");
  return message;
}

Status each_timeline_chunk(
    DocumentReader& reader,
    const std::function<Status(const DocumentReader::Frame&, const v1::TimelineChunk&)>& visit) {
  for (;;) {
    KVPLAN_TRY(const auto frame, reader.next());
    if (!frame) return Done{};
    if (frame->type != kTimelineFrame) continue;
    v1::TimelineChunk chunk;
    if (!chunk.ParseFromString(frame->message)) return reader.wrong("expected a TimelineChunk message");
    KVPLAN_TRY_DO(visit(*frame, chunk));
  }
}

}  // namespace kvplan::io
