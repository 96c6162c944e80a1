// Kernel times of a machine, measured within a given time, as a calibration that runs and `kvplan latency` load
// (`latency=composed:calibration=FILE`); and how well it predicts rows that are not in it.
//
// At most 60 % of the time go to a coarse grid, then a quarter of the remaining time to rows outside it, the rest to a
// finer grid. Rows of decode attention that are not in the calibration are predicted in the way of a run: the
// calibration is read back (simulator/io/measured_kernels.h). Ragged batches are predicted by their mean length, rows
// of other kernels as prediction.h says.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/io/calibration.h"
#include "validator/kernels/stage_files.h"

namespace kvplan::validator {

/// Cases to time, the most valuable first.
struct CalibrationCases {
  std::vector<Case> coarse, unseen, fine;
};
/// Cases of the catalogue, for all kernels or for one.
CalibrationCases usual_cases(const MachineFacts& machine, const std::string& kernel);

struct CalibrationOptions {
  double seconds{60};
  bool quick{false};  ///< fewer samples
  std::string when;   ///< in the form of utc_text
};

struct KernelCalibration {
  std::vector<TimedRow> rows;                       ///< rows of the calibration
  std::vector<TimedRow> unseen;                     ///< measured rows that are not in the calibration
  std::vector<std::optional<double>> predicted_ns;  ///< for each row of `unseen`
  std::vector<UnseenErrors> errors;                 ///< by kernel
  StageFacts facts;
  Sampling sampling;

  /// The calibration file. `tables`: other tables of the same device.
  [[nodiscard]] std::string json(const MachineFacts& machine, std::vector<MeasuredTable> tables = {}) const;
  /// A summary of some lines.
  [[nodiscard]] std::vector<std::string> text() const;
};

/// Errors: the machine's; there was no time for a single row; the user asked to stop.
Result<KernelCalibration> calibrate_kernels(Machine& machine, const CalibrationCases& cases,
                                            const CalibrationOptions& options);

}  // namespace kvplan::validator
