// Commands of kvplan-validate that use the simulator's libraries: `run` simulates, `calibrate` predicts as a run does.
// All other code of the validator shares nothing with what it checks.
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
  double seconds{60};  ///< for kernels; 0: only what the driver and memory do (cuda)
  std::string kernel;  ///< only this one
  bool quick{false};
};

/// Measures, writes the file, prints a summary. Errors: no device, a call that failed, no time for a single row.
Status calibrate(const CalibrateArguments& arguments);

struct RunArguments {
  std::string input;              ///< scenario or trace
  std::vector<std::string> sets;  ///< PATH=VALUE
  std::string backend{"host"};
  std::string calibration;  ///< empty: half of the time goes into one
  double seconds{60};       ///< for kernels; 0: memory alone
  std::int64_t steps{8};    ///< to run the kernels of
  bool quick{false};
  double most_median{0}, most_p90{0};  ///< limits of the errors of decode attention; 0: none
  std::string events;                  ///< keep the event log here
  std::string json, html, report;
};

/// Simulates, replays, runs kernels, compares, writes. True: all is as predicted.
Result<bool> run_and_compare(const RunArguments& arguments);

/// Machine of a backend: host, fake or cuda.
Result<std::unique_ptr<Machine>> make_machine(const std::string& backend);
/// As utc_text gives it.
Result<std::string> time_of_day();

}  // namespace kvplan::validator
