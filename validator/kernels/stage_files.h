// Files of stages: measured rows as JSON, as a calibration, and as a text table that a later run reads.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/json_writer.h"
#include "simulator/base/result.h"
#include "validator/kernels/measure.h"
#include "validator/kernels/prediction.h"
#include "validator/probe/measured_table.h"

namespace kvplan::validator {

struct CheckedRow {
  Case of;
  Checked checked;
};

struct TimedRow {
  Case of;
  Timing timing;
};

/// Facts that every file has in addition to its rows.
struct StageFacts {
  std::string stage, when;
  std::optional<Telemetry> before{}, after{};
  double drift{0};  ///< of the case that is timed repeatedly: largest relative change of its median
  double seconds{0};
  std::int64_t rows_left{0};
};

void put_facts(JsonWriter& json, const MachineFacts& machine, const StageFacts& facts);
void put_case(JsonWriter& json, const Case& of);
void put_timing(JsonWriter& json, const Timing& timing, const MachineFacts& machine);

std::string checked_json(const MachineFacts& machine, const StageFacts& facts,
                         const std::vector<CheckedRow>& rows);
std::string timed_json(const MachineFacts& machine, const StageFacts& facts,
                       const std::vector<TimedRow>& rows);
/// How well the calibration predicts rows of a kernel that are not in it.
struct UnseenErrors {
  std::string kernel, method;  ///< method: how they are predicted, in words
  PredictionErrors errors;
};
/// The content of a calibration besides the rows of kernels.
struct BesideRows {
  std::vector<MeasuredTable> tables{};
  std::vector<UnseenErrors> errors{};
};
/// simulator/io/CALIBRATION_FORMAT.md. REQUIRES: rows.
std::string calibration_json(const MachineFacts& machine, const StageFacts& facts,
                             const std::vector<TimedRow>& rows, const Sampling& sampling,
                             const BesideRows& beside = {});

/// Lines of `group<tab>batch<tab>length<tab>nanoseconds`.
struct GridRow {
  std::string group;
  double batch{0}, length{0}, ns{0};
};
std::string grid_text(const std::vector<GridRow>& rows);
/// Errors: the file cannot be read, or a line is malformed, with its number.
Result<std::vector<GridRow>> read_grid(const std::string& path);

/// Writes the whole file or nothing.
Status write_whole(const std::string& path, const std::string& text);

}  // namespace kvplan::validator
