#include "traces/import/csv_line.h"

#include <algorithm>

#include "traces/import/column_map.h"
#include "traces/import/fields.h"

namespace kvplan::traces {

char guess_delimiter(std::string_view header) {
  char best = ',';
  auto most = std::count(header.begin(), header.end(), ',');
  for (const char candidate : {';', '\t'}) {
    const auto count = std::count(header.begin(), header.end(), candidate);
    if (count > most) {
      most = count;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> split_csv(std::string_view record, char delimiter, std::size_t most) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < record.size(); ++i) {
    const char c = record[i];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (i + 1 < record.size() && record[i + 1] == '"') {
        fields.back() += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && fields.back().empty()) {
      quoted = true;
    } else if (c == delimiter) {
      if (fields.size() == most) break;
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 40;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) {
    const std::string& name = names[i];
    const bool plain = !name.empty() && name.find_first_of(",;\"") == std::string::npos &&
                       name.front() != ' ' && name.back() != ' ';
    const std::string visible = shown(plain ? name : quoted_name(name));
    out += i == 0 ? "" : ", ";
    out += visible.substr(1, visible.size() - 2);
  }
  if (names.size() > kMost) out += ", and " + std::to_string(names.size() - kMost) + " more";
  return out;
}

}  // namespace kvplan::traces
