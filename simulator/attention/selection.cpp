#include "simulator/attention/selection.h"

#include <algorithm>
#include <numeric>

#include "simulator/attention/kernels.h"
#include "simulator/base/check.h"

namespace kvplan::attention {
namespace {

/// The indices of the `count` lowest by (score, index), in no order, followed by the others.
std::vector<std::int32_t> partition_lowest(std::span<const double> scores, std::int32_t count) {
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto lower = [scores](std::int32_t a, std::int32_t b) {
    const double x = scores[static_cast<std::size_t>(a)];
    const double y = scores[static_cast<std::size_t>(b)];
    return x != y ? x < y : a < b;
  };
  if (count > 0 && count < static_cast<std::int32_t>(order.size()))
    std::nth_element(order.begin(), order.begin() + count, order.end(), lower);
  return order;
}

}  // namespace

void lowest(std::span<const double> scores, std::int32_t count, std::vector<std::int32_t>& drop) {
  const auto n = static_cast<std::int32_t>(scores.size());
  KVPLAN_CHECK(count >= 0 && count <= n, count, n);
  if (count == 0) return;
  if (count == 1) {
    drop.push_back(first_lowest(scores));
    return;
  }
  const std::vector<std::int32_t> order = partition_lowest(scores, count);
  const auto begin = static_cast<std::ptrdiff_t>(drop.size());
  drop.insert(drop.end(), order.begin(), order.begin() + count);
  std::sort(drop.begin() + begin, drop.end());
}

void highest(std::span<const double> scores, std::int32_t count, std::vector<std::int32_t>& chosen) {
  const auto n = static_cast<std::int32_t>(scores.size());
  KVPLAN_CHECK(count >= 0 && count <= n, count, n);
  const std::vector<std::int32_t> order = partition_lowest(scores, n - count);
  const auto begin = static_cast<std::ptrdiff_t>(chosen.size());
  chosen.insert(chosen.end(), order.begin() + (n - count), order.end());
  std::sort(chosen.begin() + begin, chosen.end());
}

}  // namespace kvplan::attention
