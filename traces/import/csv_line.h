// Reads one record of a CSV file as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvplan::traces {

/// The delimiter: comma, semicolon or tab, whichever is most frequent in the header; comma if there is none.
char guess_delimiter(std::string_view header);
/// Headers with more columns are refused.
inline constexpr std::size_t kMaxColumns = 4096;
/// Splits a record into fields without their quotes. A doubled quote inside quotes is one quote; a quote inside a field
/// without quotes is kept. Spaces around a field are kept. Stops after `most` fields, so that a line of a million
/// commas takes no memory.
std::vector<std::string> split_csv(std::string_view record, char delimiter,
                                   std::size_t most = kMaxColumns + 1);
/// `a, b, c`, with control characters escaped, names with commas in quotes as in --map, long lists cut.
std::string listed(const std::vector<std::string>& names);

}  // namespace kvplan::traces
