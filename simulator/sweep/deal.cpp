#include "simulator/sweep/deal.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace kvplan::sweep {

std::vector<std::int64_t> dealt_to(const Shard& shard, const std::vector<std::int64_t>& costs) {
  std::vector<std::int64_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return costs[static_cast<std::size_t>(a)] > costs[static_cast<std::size_t>(b)];
  });
  using Load = std::pair<std::int64_t, std::int64_t>;  // and the shard
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::int64_t k = 1; k <= shard.count; ++k) loads.emplace(0, k);
  std::vector<std::int64_t> mine;
  for (const std::int64_t number : order) {
    const auto [load, k] = loads.top();
    loads.pop();
    loads.emplace(load + costs[static_cast<std::size_t>(number)], k);
    if (k == shard.index) mine.push_back(number);
  }
  std::sort(mine.begin(), mine.end());
  return mine;
}

}  // namespace kvplan::sweep
