// A validated run as a message (proto/validation.proto; simulator/io/validation_file.h has its JSON and its file), as
// text, and as a page with charts.
#pragma once

#include <string>
#include <vector>

#include "validator/replay_log/replay_log.h"
#include "validator/run/measured_steps.h"

namespace kvplan::v1 {
class Validation;
}

namespace kvplan::validator {

struct ValidatedRun {
  std::string input, model, allocator, eviction, format;  ///< of the scenario
  ReplayedLog replayed;
  MachineFacts machine;
  std::string calibration;  ///< name of the file; empty: it was measured in this run
  ChosenSteps chosen;
  MeasuredRun measured;
  std::vector<std::string> notes;
  std::string when;
  /// Limits of the errors of decode attention: median and 90th percentile, as shares; 0: none
  double most_median{0}, most_p90{0};

  /// "equal", or what differs: bytes or claims as the replay says, kernels, times.
  [[nodiscard]] std::string verdict() const;
  [[nodiscard]] bool good() const { return verdict() == "equal"; }
};

v1::Validation message_of(const ValidatedRun& run);

std::string validation_text(const v1::Validation& message);
/// `command`: the command that makes this page again.
std::string validation_html(const v1::Validation& message, const std::string& command);

}  // namespace kvplan::validator
