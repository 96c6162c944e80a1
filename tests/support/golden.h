// Reading of recorded behaviour: the golden CSV files of real engines and the synthetic trace they were made
// from.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/record/trace.h"

namespace kvplan::test {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Lines of a plain or gzipped text file; empty if it cannot be read.
inline std::vector<std::string> read_lines(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return {};
  std::string text;
  std::vector<char> buffer(1 << 16);
  for (int n = 0; (n = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  gzclose(file);
  return lines_of(text);
}

/// Reads Mooncake rows with integer fields, the form of golden/engines/micro_trace.jsonl. A separate reader, so that a
/// fault of the importers cannot go unnoticed here.
inline traces::Trace read_mooncake(const std::string& path) {
  traces::Trace trace;
  trace.prefix.block_tokens = 512;
  trace.prefix.offsets.push_back(0);
  std::unordered_map<std::uint64_t, std::uint32_t> ids;
  const auto number_after = [](const std::string& line, const char* key) {
    return std::strtoll(line.c_str() + line.find(key) + std::char_traits<char>::length(key), nullptr, 10);
  };
  for (const std::string& line : read_lines(path)) {
    trace.arrival_ns.push_back(number_after(line, "\"timestamp\":") * 1'000'000);
    trace.input_tokens.push_back(static_cast<std::int32_t>(number_after(line, "\"input_length\":")));
    trace.output_tokens.push_back(static_cast<std::int32_t>(number_after(line, "\"output_length\":")));
    const char* at = std::strchr(line.c_str() + line.find("\"hash_ids\":"), '[') + 1;
    while (*at != ']' && *at != '\0') {
      char* end = nullptr;
      const std::uint64_t id = std::strtoull(at, &end, 10);
      trace.prefix.ids.push_back(ids.emplace(id, static_cast<std::uint32_t>(ids.size())).first->second);
      at = end;
      while (*at == ',' || *at == ' ') ++at;
    }
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
  }
  trace.prefix.distinct = static_cast<std::int64_t>(ids.size());
  return trace;
}

/// Compares a table made by a replay, header line included, with a recorded one.
inline void expect_table(const std::string& path, const std::string& ours) {
  SCOPED_TRACE(path);
  const auto golden = read_lines(path);
  const auto lines = lines_of(ours);
  ASSERT_GT(golden.size(), 1U);
  for (std::size_t i = 0; i < std::min(golden.size(), lines.size()); ++i)
    ASSERT_EQ(golden[i], lines[i]) << "line " << i + 1;
  EXPECT_EQ(golden.size(), lines.size());
}

}  // namespace kvplan::test
