// Predicted times of kernels from a calibration: decode attention as a run looks it up, other kernels, and decode
// attention over retained sets, between the rows of their own kind.
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
  /// Errors: a table of decode attention with an impossible call.
  static Result<KernelTimes> of_calibration(const io::Calibration& calibration, const std::string& file);
  /// Rows that no calibration can hold: of retained sets.
  void add(const TimedRow& row);

  struct Predicted {
    double ns{0};
    std::string_view source;
  };
  /// Nothing: the calibration has no such kernel, or is too far away.
  [[nodiscard]] std::optional<Predicted> operator()(const Case& of) const;

 private:
  std::unique_ptr<kernels::DecodeTimes> attention_;
  Grid grid_;
};

/// Cases that predict these: for each kind of kernel, batches and lengths that double, from the smallest to the
/// largest that is asked for. `most_bytes`: larger ones are left out, but for one of each kind.
std::vector<Case> grid_around(const std::vector<Case>& asked, std::int64_t most_bytes);

}  // namespace kvplan::validator
