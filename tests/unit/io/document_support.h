// Documents in memory for the tests of their files.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/io/document_file.h"
#include "simulator/io/report_file.h"
#include "simulator/run/run.h"
#include "traces/io/input.h"

namespace kvplan::io::testing {

/// The bytes that `make` writes to its sink.
template <class Make>
std::string bytes_of(const Make& make) {
  std::string out;
  const Status made = make([&](std::string_view bytes) -> Status {
    out += bytes;
    return Done{};
  });
  return made.ok() ? out : "error: " + made.error().to_string();
}

/// The caller must keep the bytes alive.
traces::Input input_of(std::string_view bytes, const std::string& name = "file");

/// A file of correct frames around any messages: type and message of each.
std::string framed(DocumentKind kind, const std::vector<std::pair<std::string, std::string>>& messages);
/// HEAD, BODY and TAIL around a message, with another version if asked.
std::string document(DocumentKind kind, const std::string& body, std::uint32_t version = kDocumentVersion);

std::string scenario_bytes(const runs::Scenario& scenario, const std::string& path = "-");
std::string report_bytes(const runs::RunResult& result, bool timeline = false);

/// The error line of reading a file of that kind; "no error" if it can be read.
std::string error_of(DocumentKind kind, std::string_view bytes);

}  // namespace kvplan::io::testing
