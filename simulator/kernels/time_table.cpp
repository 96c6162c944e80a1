#include "simulator/kernels/time_table.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "simulator/base/comma_cells.h"
#include "simulator/base/number_input.h"

namespace kvplan::kernels {
namespace {

constexpr double kMostUs = 1e12;

bool is_number(std::string_view cell) {
  return !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
}

Result<std::vector<double>> numbers_of(const std::vector<std::string_view>& cells, std::size_t from,
                                       bool may_be_empty) {
  std::vector<double> out;
  for (std::size_t i = from; i < cells.size(); ++i) {
    if (cells[i].empty() && may_be_empty) {
      out.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    KVPLAN_TRY(const double number, read_number(cells[i], {1e-6, kMostUs}));
    out.push_back(number);
  }
  return out;
}

}  // namespace

std::vector<double> numbers_in(const std::vector<std::string>& key) {
  std::vector<double> out;
  for (const std::string& text : key) out.push_back(std::strtod(text.c_str(), nullptr));
  return out;
}

const TimeRow* TimeTable::find(const std::vector<std::string>& key) const {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const TimeRow& each) { return each.key == key; });
  return row == rows.end() ? nullptr : &*row;
}

Result<TimeTable> parse_time_table(std::string_view text, std::span<const std::string_view> columns,
                                   const std::string& file) {
  TimeTable table;
  std::vector<std::size_t> places;  // index among `columns` of each of the file's index columns
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto here = [&](Error error) { return std::move(error).at_file(file).at_line(number); };
    const std::vector<std::string_view> cells = comma_cells(line);
    const bool header = table.axis.empty();
    if (header) {
      for (std::size_t i = 0; i < cells.size() && !is_number(cells[i]); ++i) {
        const auto found = std::find(columns.begin(), columns.end(), cells[i]);
        if (found == columns.end()) return here(bad_input("expected no such column").at_field(cells[i]));
        places.push_back(static_cast<std::size_t>(found - columns.begin()));
      }
      if (places.empty() || cells.size() == places.size())
        return here(bad_input("expected names of columns, then values of the axis"));
    } else if (cells.size() != places.size() + table.axis.size()) {
      return here(bad_input("expected " + std::to_string(places.size() + table.axis.size()) +
                            " cells, found " + std::to_string(cells.size())));
    }
    auto numbers = numbers_of(cells, places.size(), !header);
    if (!numbers.ok()) return here(std::move(numbers).error());
    if (header) {
      table.axis = std::move(numbers).value();
      if (std::adjacent_find(table.axis.begin(), table.axis.end(), std::greater_equal<>()) !=
          table.axis.end())
        return here(bad_input("expected values of the axis that ascend"));
      continue;
    }
    std::vector<std::string> key(columns.size(), "0");
    for (std::size_t i = 0; i < places.size(); ++i) key[places[i]] = cells[i];
    std::vector<double> values = numbers_in(key);
    table.rows.push_back({std::move(key), std::move(values), std::move(numbers).value()});
  }
  if (table.rows.empty()) return bad_input("expected a header and rows, found none").at_file(file);
  return table;
}

}  // namespace kvplan::kernels
