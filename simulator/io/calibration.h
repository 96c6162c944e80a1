// Calibrations: measurements of a device (proto/calibration.proto; CALIBRATION_FORMAT.md has the JSON and the
// tables). Plain structs, read and written here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"
#include "traces/io/input.h"

namespace kvplan::io {

inline constexpr std::string_view kCalibrationSchema = "kvplan-calibration-1";

struct CalibrationDevice {
  std::string name;
  std::int64_t sm_count{0}, l2_bytes{0}, visible_bytes{0}, sm_clock_mhz{0}, memory_clock_mhz{0};
};

struct CalibrationSoftware {
  std::string driver, toolkit, engine, engine_version, kernel_build;
};

struct CalibrationMethod {
  bool cold{false}, graph{false};
  std::int64_t least_samples{0};
  std::string stop_rule;
};

/// Values of one column; `texts` if the unit is "text", else `numbers`.
struct CalibrationColumn {
  std::string name, unit;
  std::vector<double> numbers;
  std::vector<std::string> texts;

  [[nodiscard]] bool is_text() const { return unit == "text"; }
  [[nodiscard]] std::size_t rows() const { return is_text() ? texts.size() : numbers.size(); }
};

/// All columns have the same number of rows, at least one.
struct CalibrationTable {
  std::string name;
  std::vector<CalibrationColumn> columns;

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : columns.front().rows(); }
  /// The column of this name; null if there is none.
  [[nodiscard]] const CalibrationColumn* column(std::string_view name) const;
};

struct CalibrationParameter {
  std::string name;
  double value{0};
  std::string unit;
};

struct CalibrationFit {
  std::string table, form;
  std::vector<CalibrationParameter> parameters;
  double held_out_error{0};
  std::int64_t held_out_rows{0};
};

struct Calibration {
  std::string made_by, when;
  CalibrationDevice device;
  CalibrationSoftware software;
  CalibrationMethod method;
  std::vector<CalibrationTable> tables;
  std::vector<CalibrationFit> fits;
};

/// A table that this version knows, with its required columns (a file may have more).
struct KnownColumn {
  std::string_view name, unit, help;
};
struct KnownTable {
  std::string_view name, summary;
  std::span<const KnownColumn> columns;
};
std::span<const KnownTable> known_tables();
/// The known table of this name; null if there is none.
const KnownTable* known_table(std::string_view name);

/// All units that columns can have.
std::span<const std::string_view> calibration_units();

/// Errors with file, line and field: not JSON, keys that the schema does not have, values of another type or out of
/// range, columns of different lengths, a known table without one of its columns, quantiles out of order. At most 64
/// MiB.
Result<Calibration> read_calibration(traces::Input& input);
Result<Calibration> parse_calibration(std::string_view text, const std::string& file);

/// Writes the JSON, with every key in the order of the schema. Reading it gives the same calibration, and writing that
/// again gives the same bytes.
std::string calibration_json(const Calibration& calibration);

/// Appends the rows of `more` to those of `base`, table by table; tables and fits that only `more` has are added. The
/// earlier `when` is kept. Errors: another device, software or method; a table with different columns; the same fit
/// twice.
Status merge_calibration(Calibration& base, const Calibration& more);

}  // namespace kvplan::io
