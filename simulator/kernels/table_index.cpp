#include "simulator/kernels/table_index.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <mutex>

#include "simulator/base/check.h"

namespace kvplan::kernels {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view take_cell(std::string_view& line) {
  const std::size_t end = std::min(line.find(','), line.size());
  const std::string_view cell = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return cell;
}

double number_in(std::string_view cell) {
  double number = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(cell.data(), cell.data() + cell.size(), number);
  return number;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

TableIndex::TableIndex(const PackedTable& packed, const KernelKind& kind) : text_(unpack(packed)) {
  std::string_view rest = text_;
  std::string_view header = take_line(rest);
  std::vector<std::size_t> places;
  while (!header.empty() && !is_digit(header.front())) {
    const std::string_view name = take_cell(header);
    const auto column = std::find_if(kind.columns.begin(), kind.columns.end(),
                                     [&](const KeyColumn& each) { return each.name == name; });
    KVPLAN_CHECK(column != kind.columns.end());
    places.push_back(static_cast<std::size_t>(column - kind.columns.begin()));
  }
  while (!header.empty()) keys_.axis.push_back(number_in(take_cell(header)));
  while (!rest.empty()) {
    std::string_view line = take_line(rest);
    if (line.empty()) continue;
    TimeRow row;
    row.key.assign(kind.columns.size(), "0");
    row.numbers.assign(kind.columns.size(), 0);
    for (const std::size_t place : places) {
      const std::string_view cell = take_cell(line);
      row.key[place] = cell;
      if (kind.columns[place].form != KeyForm::kText) row.numbers[place] = number_in(cell);
    }
    keys_.rows.push_back(std::move(row));
    times_.push_back(line);
  }
  KVPLAN_CHECK(!keys_.axis.empty() && !keys_.rows.empty());
}

std::vector<double> TableIndex::times(std::size_t row) const {
  std::string_view line = times_[row];
  std::vector<double> out;
  out.reserve(keys_.axis.size());
  for (std::size_t i = 0; i < keys_.axis.size(); ++i) out.push_back(number_in(take_cell(line)));
  return out;
}

const TableIndex& index_of(const PackedTable& packed, const KernelKind& kind) {
  static std::mutex mutex;
  static std::map<std::string_view, std::unique_ptr<const TableIndex>> read;  // by file
  const std::lock_guard lock(mutex);
  std::unique_ptr<const TableIndex>& place = read[packed.file];
  if (place == nullptr) place = std::make_unique<const TableIndex>(packed, kind);
  return *place;
}

}  // namespace kvplan::kernels
