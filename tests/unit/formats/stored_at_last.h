// Stored bytes of a run, from the timeline that it writes.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan::test {

/// Bytes of tokens, scales and such included, in the last bin. For a single request with bins shorter than its last
/// step, this covers all tokens but the last two: one is being written, one is never written.
inline std::int64_t stored_at_last(const std::string& timeline) {
  std::istringstream lines(timeline);
  std::vector<std::vector<std::string>> rows;
  for (std::string line, cell; std::getline(lines, line);) {
    rows.emplace_back();
    for (std::istringstream cells(line); std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  std::int64_t out = 0;
  for (std::size_t i = 0; i < rows.front().size(); ++i)
    if (const std::string& name = rows.front()[i]; name == "live_max" || name == "metadata_max")
      out += std::stoll(rows.back().at(i));
  return out;
}

}  // namespace kvplan::test
