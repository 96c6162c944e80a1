// Predicts times of cases that were not measured, from a grid of measured ones. Times are linear in tokens (batch x
// length). Between two batches of the grid, their times at the same total number of tokens are averaged, weighted by
// nearness; between two lengths of one batch, time is linear; beyond the last length the last two are extrapolated.
// Ragged batches count by their total tokens. Cases that differ in anything else (kernel, numbers, heads, pages) have
// separate grids.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "validator/kernels/case.h"

namespace kvplan::validator {

/// Number and length: of sequences, in tokens (for append, new ones); for swaps, of descriptors, in bytes.
struct Axes {
  double batch{1}, length{0};
};
Axes axes_of(const Case& of);
/// A text for all properties of a case except the axes.
std::string group_of(const Case& of);

class Grid {
 public:
  void add(const std::string& group, const Axes& at, double ns);
  /// Nothing if the group is unknown, or the batch is outside its batches.
  [[nodiscard]] std::optional<double> predict(const std::string& group, const Axes& at) const;

 private:
  using Curve = std::map<double, double>;  ///< nanoseconds by tokens together
  static double on_curve(const Curve& curve, double tokens);
  std::map<std::string, std::map<double, Curve>> groups_;  ///< by group, then by batch
};

/// Errors of predictions compared with measurements: |predicted / measured - 1| and its sign.
struct PredictionErrors {
  std::int64_t rows{0}, predicted{0};
  double median{0}, p90{0}, p99{0}, worst{0}, mean{0};
  double bias{0};              ///< mean of predicted / measured - 1
  double mean_by_time{0};      ///< mean error, weighted by measured time
  double rank_correlation{0};  ///< Spearman's rank correlation
};
/// `predicted` and `measured` in the same order. REQUIRES: both have the same size.
PredictionErrors prediction_errors(const std::vector<double>& predicted, const std::vector<double>& measured);

}  // namespace kvplan::validator
