// Sums over the rows of one query head of one layer in one sequence, in one pass, for the figures of query heads that
// need only rows (figures.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/attention/top_mass.h"
#include "simulator/survey/figures.h"

namespace kvplan::survey {

/// For each figure a value, or none.
using Values = std::array<std::optional<double>, kFigures>;

/// Needs memory for a few numbers per token.
class RowSums {
 public:
  explicit RowSums(std::int64_t tokens);
  /// Adds row t. Call it once for each row, in order.
  void add(std::int64_t t, const attention::RowView& row);
  /// got(i) of tokens i = 1 .. T - 17; empty without late rows.
  [[nodiscard]] const std::vector<double>& got() const { return got_; }
  /// Stores the figures of rows in `out`. `heavy`: indices of heavy tokens in `got`.
  void finish(const std::vector<std::int32_t>& heavy, Values& out) const;
  /// Curve::kTopMass at top_mass_points of the tokens; empty without late rows.
  [[nodiscard]] std::vector<double> top_mass() const;

 private:
  void add_pivotal(std::int64_t t);
  void finish_pivotal(Values& out) const;
  void add_late(std::int64_t t, const attention::RowView& view);
  /// Adds the least number of tokens with half and nine tenths of the row's sum, divided by its tokens.
  void add_shares(double all);

  std::int64_t tokens_;
  std::vector<double> row_, sorted_;
  std::int64_t above_{0};
  double entropy_{0}, relative_{0}, effective_{0};
  double first_{0}, sinks_{0}, near_{0}, even_{0}, half_{0}, most_{0};
  std::vector<double> got_;
  std::vector<std::int64_t> points_;  ///< of top_mass, descending
  std::vector<double> top_, held_;    ///< [point] sum over late rows, and value of one row
  attention::TopMass top_mass_;
  std::array<std::vector<bool>, 2> pivotal_;   ///< [half][token of the first half]: pivotal in any row
  std::array<std::vector<double>, 2> excess_;  ///< the same for sums of w - 1 / (t + 1)
};

/// Weights of tokens 0 .. t as doubles.
void copy_row(const attention::RowView& row, std::int64_t t, std::vector<double>& out);

/// Number of rows in the sum got(i), for token i = 1 .. T - 17.
std::int64_t rows_of_far_token(std::int64_t tokens, std::int64_t token);

}  // namespace kvplan::survey
