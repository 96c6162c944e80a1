#include "validator/probe/measured_table.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::validator {

void MeasuredTable::add(std::initializer_list<Cell> row) {
  KVPLAN_CHECK(row.size() == columns_.size());
  auto column = columns_.begin();
  for (const Cell& cell : row) {
    KVPLAN_CHECK(cell.is_text == (column->unit == "text"));
    if (cell.is_text)
      column->texts.push_back(cell.text);
    else
      column->numbers.push_back(cell.number);
    ++column;
  }
  ++rows_;
}

const MeasuredColumn& MeasuredTable::column(std::string_view name) const {
  const auto found = std::find_if(columns_.begin(), columns_.end(),
                                  [&](const MeasuredColumn& column) { return column.name == name; });
  KVPLAN_CHECK(found != columns_.end());
  return *found;
}

void MeasuredTable::write(JsonWriter& json) const {
  json.begin_object().member("name", name_).key("columns").begin_array();
  for (const MeasuredColumn& column : columns_) {
    json.begin_object().member("name", column.name).member("unit", column.unit).key("numbers").begin_array();
    for (const double number : column.numbers) json.value(number);
    json.end_array().key("texts").begin_array();
    for (const std::string& text : column.texts) json.value(text);
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

Quantiles quantiles_of(std::vector<double> values) {
  KVPLAN_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const auto tenths = [&](std::size_t count) { return values[(n * count + 9) / 10 - 1]; };
  return {.samples = static_cast<std::int64_t>(n),
          .p10 = tenths(1),
          .median = n % 2 == 1 ? values[n / 2] : values[n / 2 - 1] + (values[n / 2] - values[n / 2 - 1]) / 2,
          .p90 = tenths(9)};
}

}  // namespace kvplan::validator
