#include "tests/unit/io/document_support.h"

#include "proto/document.pb.h"
#include "simulator/frame/frame.h"
#include "simulator/io/scenario_file.h"

namespace kvplan::io::testing {

traces::Input input_of(std::string_view bytes, const std::string& name) {
  return {traces::open_memory(bytes, name).value(), name};
}

std::string framed(DocumentKind kind, const std::vector<std::pair<std::string, std::string>>& messages) {
  std::string out(document_magic(kind));
  for (const auto& [type, message] : messages) out += frame::make(type, message);
  return out;
}

std::string document(DocumentKind kind, const std::string& body, std::uint32_t version) {
  v1::DocumentHeader header;
  header.set_version(version);
  v1::DocumentTail tail;
  tail.set_frames(2);
  return framed(kind,
                {{"HEAD", header.SerializeAsString()}, {"BODY", body}, {"TAIL", tail.SerializeAsString()}});
}

std::string scenario_bytes(const runs::Scenario& scenario, const std::string& path) {
  return bytes_of(
      [&](const DocumentWriter::Sink& sink) { return write_scenario_binary(scenario, path, sink); });
}

std::string report_bytes(const runs::RunResult& result, bool timeline) {
  return bytes_of(
      [&](const DocumentWriter::Sink& sink) { return write_report_binary(result, timeline, sink); });
}

std::string error_of(DocumentKind kind, std::string_view bytes) {
  traces::Input input = input_of(bytes);
  if (kind == DocumentKind::kScenario) {
    const auto read = read_scenario(input);
    return read.ok() ? "no error" : read.error().to_string();
  }
  const auto read = read_report(input);
  return read.ok() ? "no error" : read.error().to_string();
}

}  // namespace kvplan::io::testing
