// The kernels of chosen steps on a machine: are their results right, how long do they take, and how long were they
// predicted to take from a calibration that has none of these calls.
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

/// Attention over the kept tokens against attention over all of them, as a relative Frobenius norm.
struct MethodError {
  std::int64_t step{0};  ///< its index
  std::string of;        ///< the case
  double predicted{0};   ///< by the definition, in float64
  double measured{0};    ///< with the machine's results
  double tolerance{0};   ///< rounding of the machine's results may change it by so much
};

struct MeasuredRun {
  std::vector<MeasuredStep> steps;
  std::vector<UnseenErrors> errors;  ///< by kernel
  std::int64_t checked{0}, wrong{0};
  double worst_of_tolerance{0};  ///< the greatest error of a right kernel as a share of its tolerance
  std::string first_problem;
  std::vector<MethodError> methods;
  std::int64_t calibrated_rows{0}, calls_left{0};  ///< left: no time
  double drift{0};
};

struct MeasureOptions {
  double seconds{60};
  bool quick{false};
  std::int64_t most_bytes{std::int64_t{256} << 20};  ///< of a case of the calibration
  const io::Calibration* calibration{nullptr};  ///< null: half of the time goes into one of these kernels
  std::string calibration_file;
};

/// Errors: the machine's; the user asked to stop.
Result<MeasuredRun> measure_steps(Machine& machine, std::vector<LoggedStep> steps, const KernelShape& shape,
                                  const MeasureOptions& options);

}  // namespace kvplan::validator
