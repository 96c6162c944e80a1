// Means and percentiles against sorted lists.
#include <gtest/gtest.h>

#include "simulator/base/random.h"
#include "simulator/frontier/samples.h"

namespace kvplan::frontier {
namespace {

TEST(Percentile95, IsTheNearestRankOfTheSortedList) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed, "p95");
    std::vector<double> numbers(1 + random.below(150));
    for (double& number : numbers) number = random.chance(1, 2) ? random.unit() : 0.25;
    Percentile95 p95(static_cast<std::int64_t>(numbers.size()));
    for (const double number : numbers) {
      EXPECT_FALSE(p95.value().has_value()) << "before all came";
      p95.add(number);
    }
    std::sort(numbers.begin(), numbers.end());
    std::size_t rank = 0;  // the least with 95 % of all at or below it
    while (100 * (rank + 1) < 95 * numbers.size()) ++rank;
    EXPECT_EQ(p95.value(), numbers[rank]) << "seed " << seed << " of " << numbers.size();
  }
  EXPECT_FALSE(Percentile95(0).value().has_value());
}

}  // namespace
}  // namespace kvplan::frontier
