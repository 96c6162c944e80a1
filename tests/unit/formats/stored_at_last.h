// What a run stores, from the timeline that it writes.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan::test {

/// Bytes that tokens take, scales and such included, in the last bin. Of one request alone with bins shorter than its
/// last step: of all its tokens but the two that it generated last, of which one is being written and one is never.
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
