// Times of decode attention in a calibration (its table `decode-attention`), in the form of the tables that are part
// of the program: for the latency model `composed` and for `kvplan latency`.
#pragma once

#include <string>

#include "simulator/io/calibration.h"
#include "simulator/run/openers.h"

namespace kvplan::io {

/// One table for each head size, window and stored element. Rows with retained sets or sinks are left out. Of several
/// page sizes, and of several formats with elements of equal size, the one with the most rows is taken; of two rows for
/// one call, the one with more samples. Errors name `file`: no such table, an impossible call.
Result<runs::MeasuredKernels> measured_kernels(const Calibration& calibration, const std::string& file);
/// The same, read from a file.
Result<runs::MeasuredKernels> open_measured_kernels(const std::string& path);

}  // namespace kvplan::io
