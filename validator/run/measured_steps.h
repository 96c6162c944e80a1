// The kernels of chosen steps on a machine: whether their results are right, how long they take, and how long a
// calibration without any of these calls predicts them to take.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validator/kernels/measure.h"
#include "validator/run/kernel_times.h"
#include "validator/run/step_kernels.h"

namespace kvplan::validator {

struct MeasuredKernel {
  Case of;
  std::int64_t calls{1};  ///< layers
  std::optional<KernelTimes::Predicted> predicted;
  std::optional<Timing> timing;  ///< absent: no time was left
};

struct MeasuredStep {
  LoggedStep step;
  std::vector<MeasuredKernel> kernels;
};

/// Compares attention over the kept tokens with attention over all tokens, as a relative Frobenius norm.
struct MethodError {
  std::int64_t step{0};  ///< its index
  std::string of;        ///< name of the case
  double predicted{0};   ///< computed by the definition, in float64
  double measured{0};    ///< computed from the machine's results
  double tolerance{0};   ///< largest difference that the rounding of the machine's results can cause
};

struct MeasuredRun {
  std::vector<MeasuredStep> steps;
  std::vector<UnseenErrors> errors;  ///< by kernel
  std::int64_t checked{0}, wrong{0};
  double worst_of_tolerance{0};  ///< the largest error of any correct kernel, as a share of its tolerance
  std::string first_problem;
  std::vector<MethodError> methods;
  std::int64_t calibrated_rows{0}, calls_left{0};  ///< calls_left: calls for which no time was left
  double drift{0};
};

struct MeasureOptions {
  double seconds{60};
  bool quick{false};
  std::int64_t most_bytes{std::int64_t{256} << 20};  ///< largest case of the calibration
  const io::Calibration* calibration{nullptr};       ///< null: half of the time is spent on measuring one
  std::string calibration_file;
};

/// Errors: the machine's; the user asked to stop.
Result<MeasuredRun> measure_steps(Machine& machine, std::vector<LoggedStep> steps, const KernelShape& shape,
                                  const MeasureOptions& options);

}  // namespace kvplan::validator
