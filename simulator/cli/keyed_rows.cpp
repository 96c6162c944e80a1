#include "simulator/cli/keyed_rows.h"

#include <algorithm>

#include "simulator/base/comma_cells.h"

namespace kvplan::cli {

Result<KeyedRows> KeyedRows::open(std::string_view header, const std::vector<std::string_view>& names,
                                  const std::vector<std::string_view>& added) {
  const std::vector<std::string_view> columns = comma_cells(header);
  KeyedRows rows;
  rows.cells_ = columns.size();
  for (const std::string_view name : added)
    if (std::find(columns.begin(), columns.end(), name) != columns.end())
      return bad_input("expected no such column, since it is added").at_field(name);
  for (const std::string_view name : names) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) return bad_input("expected this column, found none").at_field(name);
    if (std::find(found + 1, columns.end(), name) != columns.end())
      return bad_input("expected this column once, found it twice").at_field(name);
    rows.at_.push_back(static_cast<std::size_t>(found - columns.begin()));
  }
  return rows;
}

Result<std::vector<std::string>> KeyedRows::read(std::string_view line) const {
  const std::vector<std::string_view> cells = comma_cells(line);
  if (cells.size() != cells_)
    return bad_input("expected " + std::to_string(cells_) + " cells, found " + std::to_string(cells.size()));
  std::vector<std::string> out;
  out.reserve(at_.size());
  for (const std::size_t at : at_) out.emplace_back(cells[at]);
  return out;
}

}  // namespace kvplan::cli
