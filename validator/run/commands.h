// Commands of kvplan-validate that use the simulator's libraries: `run` simulates; `calibrate` predicts times as a run
// of the simulator does. All other code of the validator shares nothing with the code that it checks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "validator/kernels/machine.h"

namespace kvplan::validator {

struct CalibrateArguments {
  std::string backend{"cuda"};
  std::string output;  ///< "-": standard output; empty: none
  double seconds{60};  ///< for kernels; 0: measures only the driver and memory (cuda)
  std::string kernel;  ///< the only kernel to measure; empty: all
  bool quick{false};
};

/// Measures, writes the file, prints a summary. Errors: no device, a call that failed, no time for a single row.
Status calibrate(const CalibrateArguments& arguments);

struct RunArguments {
  std::string input;              ///< scenario or trace
  std::vector<std::string> sets;  ///< PATH=VALUE
  std::string backend{"host"};
  std::string calibration;  ///< empty: half of the time is spent on measuring one
  double seconds{60};       ///< for kernels; 0: only memory is checked
  std::int64_t steps{8};    ///< number of steps with kernels that are run
  bool quick{false};
  double most_median{0}, most_p90{0};  ///< limits of the prediction errors of decode attention; 0: none
  std::string events;                  ///< where the event log is kept; empty: nowhere
  std::string json, html, report;
};

/// Simulates, replays the log, runs kernels, compares and writes the report. True: everything is as predicted.
Result<bool> run_and_compare(const RunArguments& arguments);

/// Machine of a backend: host, fake or cuda.
Result<std::unique_ptr<Machine>> make_machine(const std::string& backend);
/// The time now, in the form of utc_text.
Result<std::string> time_of_day();

}  // namespace kvplan::validator
