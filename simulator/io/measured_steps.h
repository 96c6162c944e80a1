// The durations of whole steps in a calibration (its table `step`), for the latency model `calibrated`.
#pragma once

#include <string>
#include <string_view>

#include "simulator/io/calibration.h"
#include "simulator/run/run.h"

namespace kvplan::io {

/// The steps of `model`, if the table has a column of that name, else all steps; medians rounded once to ticks,
/// halves up. Errors, with `file`: no such table, no steps of the model, an impossible step.
Result<runs::MeasuredSteps> measured_steps(const Calibration& calibration, std::string_view model,
                                           const std::string& file);
/// As measured_steps, from a file.
Result<runs::MeasuredSteps> open_measured_steps(const std::string& path, std::string_view model);

}  // namespace kvplan::io
