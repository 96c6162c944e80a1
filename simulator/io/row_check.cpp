#include "simulator/io/row_check.h"

#include "simulator/base/json_writer.h"

namespace kvplan::io {
namespace {

constexpr double kMostSum = 1.01;

template <class T>
Status check(std::span<const T> row, std::int64_t t) {
  double sum = 0;
  bool in_order = true;
  for (const T weight : row) {
    // False for NaN too.
    in_order = in_order && weight >= 0;
    sum += static_cast<double>(weight);
  }
  if (in_order && sum > 0 && sum <= kMostSum) return Done{};
  const std::string field = "row " + std::to_string(t);
  for (std::size_t i = 0; i < row.size(); ++i)
    if (!(row[i] >= 0 && static_cast<double>(row[i]) <= kMostSum))
      return bad_input("expected weights from 0 to 1, found " + shortest(static_cast<double>(row[i])) +
                       " for token " + std::to_string(i))
          .at_field(field);
  return bad_input("expected weights that sum to 1, found a sum of " + shortest(sum)).at_field(field);
}

}  // namespace

Status check_row(std::span<const double> row, std::int64_t t) {
  return check(row, t);
}
Status check_row(std::span<const float> row, std::int64_t t) {
  return check(row, t);
}

}  // namespace kvplan::io
