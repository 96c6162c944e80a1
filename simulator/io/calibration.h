// Calibrations: what a device was measured to do (proto/calibration.proto; CALIBRATION_FORMAT.md has the JSON and the
// tables). As plain structs, read and written.
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

/// Values of one column; `texts` where the unit is "text", else `numbers`.
struct CalibrationColumn {
  std::string name, unit;
  std::vector<double> numbers;
  std::vector<std::string> texts;

  [[nodiscard]] bool is_text() const { return unit == "text"; }
  [[nodiscard]] std::size_t rows() const { return is_text() ? texts.size() : numbers.size(); }
};

/// All columns have as many rows, at least one.
struct CalibrationTable {
  std::string name;
  std::vector<CalibrationColumn> columns;

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : columns.front().rows(); }
  /// Null where there is none.
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

/// A table that this version knows: columns that it must have (more may stand beside them).
struct KnownColumn {
  std::string_view name, unit, help;
};
struct KnownTable {
  std::string_view name, summary;
  std::span<const KnownColumn> columns;
};
std::span<const KnownTable> known_tables();
/// Null where this version knows none of that name.
const KnownTable* known_table(std::string_view name);

/// Units of columns.
std::span<const std::string_view> calibration_units();

/// Errors carry file, line and field: no JSON, keys that the schema has not, values of another kind or out of range,
/// columns of different lengths, a known table without one of its columns, quantiles in another order. At most 64 MiB.
Result<Calibration> read_calibration(traces::Input& input);
Result<Calibration> parse_calibration(std::string_view text, const std::string& file);

/// The JSON, every key in the order of the schema. What is read of it is the same calibration, and its JSON the same
/// bytes.
std::string calibration_json(const Calibration& calibration);

/// Rows of `more` behind those of `base`, table by table; tables and fits that only one has are taken as they are. The
/// earlier `when` counts. Errors: another device, software or method; a table whose columns differ; the same fit twice.
Status merge_calibration(Calibration& base, const Calibration& more);

}  // namespace kvplan::io
