// Means and percentiles compared with sorted lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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
    std::size_t rank = 0;  // the least value that at least 95 % do not exceed
    while (100 * (rank + 1) < 95 * numbers.size()) ++rank;
    EXPECT_EQ(p95.value(), numbers[rank]) << "seed " << seed << " of " << numbers.size();
  }
  EXPECT_FALSE(Percentile95(0).value().has_value());
}

TEST(Percentile95, PartsAreAddedUp) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed, "parts");
    const auto count = static_cast<std::int64_t>(1 + random.below(200));
    Percentile95 whole(count);
    Percentile95 sum(count);
    Mean mean;
    Mean mean_of_parts;
    for (std::int64_t left = count; left > 0;) {
      Percentile95 part(count);
      Mean of_part;
      const auto some = std::min<std::int64_t>(left, static_cast<std::int64_t>(random.below(40)));
      for (std::int64_t i = 0; i < some; ++i) {
        const double number = random.unit();
        whole.add(number);
        part.add(number);
        mean.add(number);
        of_part.add(number);
      }
      left -= some;
      sum.add(part);
      mean_of_parts.add(of_part);
    }
    EXPECT_EQ(sum.value(), whole.value());
    EXPECT_EQ(mean_of_parts.least(), mean.least());
    EXPECT_EQ(mean_of_parts.count(), mean.count());
    EXPECT_NEAR(*mean_of_parts.mean(), *mean.mean(), 1e-12);
  }
}

TEST(ClusterError, IsTheFormula) {
  ClusterError error;
  EXPECT_FALSE(error.value().has_value());
  error.add(3, 4);
  error.add(0, 0);
  EXPECT_FALSE(error.value().has_value()) << "an empty cluster is none";
  error.add(1, 2);
  error.add(5, 5);
  // R = 9 / 11; squares (3 - 36/11)^2 + (1 - 18/11)^2 + (5 - 45/11)^2 = (9 + 49 + 100) / 121.
  EXPECT_NEAR(*error.value(), std::sqrt(1.5 * 158 / 121) / 11, 1e-15);
  // For clusters of equal size it is the usual formula: standard deviation of means over the root of their number.
  ClusterError even;
  for (const double mean : {0.5, 0.75, 0.25, 0.9}) even.add(mean * 8, 8);
  EXPECT_NEAR(*even.value(), std::sqrt((0.01 + 0.0225 + 0.1225 + 0.09) / 3 / 4), 1e-12);
}

}  // namespace
}  // namespace kvplan::frontier
