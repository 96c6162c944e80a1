// Tables of measurements, as in calibration files (simulator/io/CALIBRATION_FORMAT.md). A second writer of that format,
// because the validator shares no code with the simulator; the tests read it with the simulator's reader.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/json_writer.h"

namespace kvplan::validator {

struct MeasuredColumn {
  std::string name, unit;
  std::vector<double> numbers{};     ///< used for any unit but "text"
  std::vector<std::string> texts{};  ///< used for "text"
};

/// One value of a row.
struct Cell {
  Cell(std::int64_t whole) : number(static_cast<double>(whole)) {}
  Cell(double decimal) : number(decimal) {}
  Cell(std::string_view words) : text(words), is_text(true) {}
  Cell(const char* words) : text(words), is_text(true) {}

  double number{0};
  std::string text;
  bool is_text{false};
};

/// Rows are added whole, so all columns are equally long.
class MeasuredTable {
 public:
  MeasuredTable(std::string name, std::vector<MeasuredColumn> columns)
      : name_(std::move(name)), columns_(std::move(columns)) {}

  /// REQUIRES: a cell for each column, with a text if the column's unit is "text".
  void add(std::initializer_list<Cell> row);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// REQUIRES: there is such a column.
  [[nodiscard]] const MeasuredColumn& column(std::string_view name) const;
  void write(JsonWriter& json) const;

 private:
  std::string name_;
  std::vector<MeasuredColumn> columns_;
  std::size_t rows_{0};
};

/// Quantiles of a sample. p10: the least value that at least a tenth of the values do not exceed; p90: the same with
/// nine tenths. The median of an even number of values is the mean of the middle two. p10 <= median <= p90.
struct Quantiles {
  std::int64_t samples{0};
  double p10{0}, median{0}, p90{0};
};
/// REQUIRES: at least one value.
Quantiles quantiles_of(std::vector<double> values);

}  // namespace kvplan::validator
