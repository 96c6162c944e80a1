// Kernel times of a machine, measured within a given time, as a calibration that runs and `kvplan latency` load
// (`latency=composed:calibration=FILE`); and how well it predicts rows that it has not seen.
//
// Of the time, 60 % at most go to a coarse grid, then a quarter of what is left to rows outside it, the rest to a finer
// grid. Rows of decode attention that were kept out are predicted by reading the calibration back as a run does
// (simulator/io/measured_kernels.h), and ragged batches by their mean length; rows of other kernels as prediction.h
// says.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/io/calibration.h"
#include "validator/kernels/stage_files.h"

namespace kvplan::validator {

/// Cases to time, in the order of their worth.
struct CalibrationCases {
  std::vector<Case> coarse, unseen, fine;
};
/// Those of the catalogue, of all kernels or of one.
CalibrationCases usual_cases(const MachineFacts& machine, const std::string& kernel);

struct CalibrationOptions {
  double seconds{60};
  bool quick{false};  ///< fewer samples
  std::string when;   ///< as utc_text gives it
};

struct KernelCalibration {
  std::vector<TimedRow> rows;                       ///< in the calibration
  std::vector<TimedRow> unseen;                     ///< kept out of it
  std::vector<std::optional<double>> predicted_ns;  ///< of each row kept out
  std::vector<UnseenErrors> errors;                 ///< by kernel
  StageFacts facts;
  Sampling sampling;

  /// The file. `tables`: others of the same device.
  [[nodiscard]] std::string json(const MachineFacts& machine, std::vector<MeasuredTable> tables = {}) const;
  /// In some lines.
  [[nodiscard]] std::vector<std::string> text() const;
};

/// Errors: the machine's; there was no time for a single row; the user asked to stop.
Result<KernelCalibration> calibrate_kernels(Machine& machine, const CalibrationCases& cases,
                                            const CalibrationOptions& options);

}  // namespace kvplan::validator
