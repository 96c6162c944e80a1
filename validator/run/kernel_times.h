// Kernel times predicted from a calibration: decode attention as a run looks it up; other kernels, and decode attention
// over retained sets, by interpolation between rows of the same kind.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/io/calibration.h"
#include "simulator/kernels/decode_times.h"
#include "validator/kernels/prediction.h"
#include "validator/kernels/stage_files.h"
#include "validator/run/step_kernels.h"

namespace kvplan::validator {

class KernelTimes {
 public:
  /// Errors: a table of decode attention has an impossible call.
  static Result<KernelTimes> of_calibration(const io::Calibration& calibration, const std::string& file);
  /// Rows over retained sets, which no calibration can hold.
  void add(const TimedRow& row);

  struct Predicted {
    double ns{0};
    std::string_view source;
  };
  /// Nothing if the calibration does not have such a kernel, or only calls that are too different.
  [[nodiscard]] std::optional<Predicted> operator()(const Case& of) const;

 private:
  std::unique_ptr<kernels::DecodeTimes> attention_;
  Grid grid_;
};

/// Cases from which these can be predicted: for each kind of kernel, batches and lengths that double from the smallest
/// to the largest one that is asked for. Cases above `most_bytes` are left out, except one of each kind.
std::vector<Case> grid_around(const std::vector<Case>& asked, std::int64_t most_bytes);

}  // namespace kvplan::validator
