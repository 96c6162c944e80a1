#include "simulator/io/row_check.h"

#include "simulator/base/json_writer.h"

namespace kvplan::io {
namespace {

constexpr double kMostSum = 1.01;

template <class T>
Status check(std::span<const T> row, std::int64_t t, RowRule rule) {
  double sum = 0;
  bool in_order = true;
  for (const T weight : row) {
    // False for NaN too.
    in_order = in_order && weight >= 0;
    sum += static_cast<double>(weight);
  }
  const std::string field = "row " + std::to_string(t);
  for (std::int64_t i = 0; i < rule.first_seen && in_order; ++i)
    if (row[static_cast<std::size_t>(i)] != 0)
      return bad_input("expected weights of 0 before the window, found another for token " +
                       std::to_string(i))
          .at_field(field);
  if (in_order && (sum > 0 || rule.has_sink) && sum <= kMostSum) return Done{};
  for (std::size_t i = 0; i < row.size(); ++i)
    if (!(row[i] >= 0 && static_cast<double>(row[i]) <= kMostSum))
      return bad_input("expected weights from 0 to 1, found " + shortest(static_cast<double>(row[i])) +
                       " for token " + std::to_string(i))
          .at_field(field);
  return bad_input("expected weights that sum to 1, found a sum of " + shortest(sum)).at_field(field);
}

}  // namespace

Status check_row(std::span<const double> row, std::int64_t t, RowRule rule) {
  return check(row, t, rule);
}
Status check_row(std::span<const float> row, std::int64_t t, RowRule rule) {
  return check(row, t, rule);
}

}  // namespace kvplan::io
