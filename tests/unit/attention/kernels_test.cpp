// Arithmetic of the replay: the same bits on every machine.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/attention/kernels.h"
#include "simulator/attention/replay.h"
#include "tests/unit/attention/invariant_cases.h"

namespace kvplan::attention {
namespace {

TEST(Kernels, ExpIsExpAndFixed) {
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    Random random(seed, "exp");
    const double x = -700 * random.unit() * random.unit() * random.unit();
    EXPECT_NEAR(fixed_exp(x) / std::exp(x), 1.0, 4e-16) << "seed " << seed << ", x " << x;
  }
  EXPECT_EQ(fixed_exp(0.0), 1.0);
  EXPECT_EQ(fixed_exp(-709.0), 0.0);
  EXPECT_EQ(fixed_exp(-1e300), 0.0);
}

TEST(Kernels, LogIsLogAndFixed) {
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    Random random(seed, "log");
    const double x = std::exp(-700 * random.unit() * random.unit() * random.unit());
    EXPECT_NEAR(fixed_log(x), std::log(x), 4e-16 * std::max(1.0, -std::log(x)))
        << "seed " << seed << ", x " << x;
  }
  EXPECT_EQ(fixed_log(1.0), 0.0);
  EXPECT_EQ(fixed_log(0.0), -INFINITY);
  EXPECT_NEAR(fixed_log(0x1p-1074), std::log(0x1p-1074), 1e-12);
}

TEST(Kernels, SumsFollowTheirOrder) {
  // Values with a sum that depends on the order: 8 lanes, then the tree.
  for (std::size_t n = 0; n <= 40; ++n) {
    Random random(n, "sums");
    std::vector<double> values(n);
    std::vector<std::int32_t> positions(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = std::ldexp(random.unit(), static_cast<int>(random.below(60)));
      positions[i] = static_cast<std::int32_t>(i);
    }
    double lane[8]{};
    for (std::size_t i = 0; i < n; ++i) lane[i % 8] += values[i];
    const double expected =
        ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    std::vector<double> out(n);
    EXPECT_EQ(sum_in_lanes(values), expected) << n;
    EXPECT_EQ(gather(values.data(), positions, out), expected) << n;
    EXPECT_EQ(out, values);
  }
}

/// Positions with gaps, then consecutive ones, anywhere; for both kinds of rows.
TEST(Kernels, GatherTakesNeighboursAsTheyAre) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "gather");
    const auto scattered = static_cast<std::int32_t>(random.below(40));
    const auto together = static_cast<std::int32_t>(random.below(40));
    std::vector<std::int32_t> positions;
    std::int32_t at = 0;
    for (std::int32_t i = 0; i < scattered; ++i)
      positions.push_back(at += 1 + static_cast<std::int32_t>(random.below(3)));
    for (std::int32_t i = 0; i < together; ++i) positions.push_back(++at);
    std::size_t begin = positions.empty() ? 0 : positions.size() - 1;
    while (begin > 0 && positions[begin - 1] + 1 == positions[begin]) --begin;
    EXPECT_EQ(consecutive_from(positions), begin);
    std::vector<double> row(static_cast<std::size_t>(at) + 1);
    for (double& x : row)
      x = static_cast<double>(
          static_cast<float>(std::ldexp(random.unit(), static_cast<int>(random.below(30)))));
    const std::vector<float> narrow(row.begin(), row.end());
    std::vector<double> wanted;
    for (const std::int32_t p : positions) wanted.push_back(row[static_cast<std::size_t>(p)]);
    std::vector<double> out(positions.size());
    std::vector<double> of_narrow(positions.size());
    EXPECT_EQ(gather(row.data(), positions, out), sum_in_lanes(wanted));
    EXPECT_EQ(gather(narrow.data(), positions, of_narrow), sum_in_lanes(wanted));
    EXPECT_EQ(out, wanted);
    EXPECT_EQ(of_narrow, wanted);
  }
}

/// Residents beside plain vectors: appended, dropped alone and together, from both ends.
TEST(Residents, AreWhatAVectorWouldHold) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "residents");
    Residents residents(2);
    std::vector<std::int32_t> positions;
    std::vector<double> numbers[2];
    for (std::int32_t t = 0; t < 300; ++t) {
      residents.append(t);
      positions.push_back(t);
      for (int c = 0; c < 2; ++c) {
        residents.column(c).back() = random.unit();
        numbers[c].push_back(residents.column(c).back());
      }
      std::vector<std::int32_t> gone;
      const auto size = static_cast<std::int32_t>(positions.size());
      if (seed % 2 == 0 && size > 20)
        gone = {static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(size)))};
      if (seed % 2 == 1 && random.chance(1, 10))
        for (std::int32_t i = 0; i < size; ++i)
          if (random.chance(1, 4)) gone.push_back(i);
      residents.drop(gone);
      for (std::size_t g = gone.size(); g-- > 0;) {
        positions.erase(positions.begin() + gone[g]);
        for (auto& column : numbers) column.erase(column.begin() + gone[g]);
      }
      ASSERT_TRUE(std::ranges::equal(residents.positions(), positions)) << t;
      for (int c = 0; c < 2; ++c) ASSERT_TRUE(std::ranges::equal(residents.column(c), numbers[c])) << t;
    }
  }
}

TEST(Kernels, LowestIsTheFirstAmongEquals) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed, "lowest");
    const std::size_t n = 1 + random.below(70);
    std::vector<double> score(n);
    std::vector<double> value(n);
    for (auto& x : score) x = static_cast<double>(random.below(4));
    for (auto& x : value) x = static_cast<double>(random.below(4)) / 2;
    const auto candidates = static_cast<std::int32_t>(1 + random.below(n));
    std::vector<double> expected = score;
    for (std::size_t i = 0; i < n; ++i) expected[i] += value[i] / 2;
    const auto least = std::min_element(expected.begin(), expected.begin() + candidates);
    const std::int32_t found = accumulate_and_find_lowest(value, 2.0, score, candidates);
    EXPECT_EQ(score, expected) << "seed " << seed;
    EXPECT_EQ(found, least - expected.begin()) << "seed " << seed;
    EXPECT_EQ(first_lowest(score), std::min_element(expected.begin(), expected.end()) - expected.begin());
  }
}

/// The same sums as added one after the other, to the last bit, for any number of queries and elements.
TEST(Kernels, ProductsAreAddedInOrder) {
  Random random(31, "products");
  for (const std::size_t size : {1U, 3U, 32U, 129U})
    for (std::size_t count = 1; count <= kScoredQueries; ++count) {
      const std::size_t stride = kScoredTokens + 16;
      std::vector<float> keys(size * stride);
      std::vector<double> queries(size * kScoredQueries);
      for (float& key : keys) key = static_cast<float>(random.unit() - 0.5);
      for (double& query : queries) query = static_cast<double>(static_cast<float>(random.unit() - 0.5));
      std::array<double, kScoredQueries * kScoredTokens> sums{};
      std::vector<double> packed(size * kScoredTokens);
      pack_keys(keys.data(), stride, size, packed);
      sum_products(packed, queries.data(), size, count, sums);
      for (std::size_t q = 0; q < count; ++q)
        for (std::size_t i = 0; i < kScoredTokens; ++i) {
          double sum = 0;
          for (std::size_t c = 0; c < size; ++c)
            sum += queries[c * kScoredQueries + q] * static_cast<double>(keys[c * stride + i]);
          ASSERT_EQ(sums[q * kScoredTokens + i], sum) << size << " " << count << " " << q << " " << i;
        }
    }
}

/// The same of numbers that are no float32: each product is rounded.
TEST(Kernels, ProductsOfAnyNumbersAreRoundedAndAddedInOrder) {
  Random random(33, "any products");
  for (const std::size_t size : {1U, 5U, 64U}) {
    std::vector<double> keys(size * kScoredTokens), packed(keys.size()), queries(size * kScoredQueries);
    for (double& key : keys) key = random.unit() - 0.5;
    for (double& query : queries) query = random.unit() - 0.5;
    for (std::size_t i = 0; i < kScoredTokens; ++i)
      for (std::size_t c = 0; c < size; ++c) packed.at(packed_at(i, c, size)) = keys[i * size + c];
    std::array<double, kScoredQueries * kScoredTokens> sums{};
    sum_rounded_products(packed, queries.data(), size, kScoredQueries, sums);
    for (std::size_t q = 0; q < kScoredQueries; ++q)
      for (std::size_t i = 0; i < kScoredTokens; ++i) {
        double sum = 0;
        for (std::size_t c = 0; c < size; ++c) sum += queries[c * kScoredQueries + q] * keys[i * size + c];
        ASSERT_EQ(sums[q * kScoredTokens + i], sum) << size << " " << q << " " << i;
      }
  }
}

template <class Number>
void expect_weighted_rows_in_order(Random& random) {
  for (int trial = 0; trial < 60; ++trial) {
    const auto size = static_cast<std::size_t>(random.between(1, 70));
    const auto count = static_cast<std::size_t>(random.between(0, 40));
    std::vector<Number> numbers(size * count + 1);
    std::vector<double> weights(count), out(size);
    std::vector<const Number*> rows(count);
    for (Number& number : numbers) number = static_cast<Number>(random.unit() - 0.5);
    for (double& weight : weights) weight = random.unit();
    for (double& sum : out) sum = random.unit();
    for (auto& row : rows) row = numbers.data() + random.below(numbers.size() - size);
    std::vector<double> expected = out;
    for (std::size_t c = 0; c < size; ++c)
      for (std::size_t i = 0; i < count; ++i) expected[c] += weights[i] * static_cast<double>(rows[i][c]);
    add_weighted(weights, rows, out);
    ASSERT_EQ(out, expected) << size << " channels of " << count << " rows";
  }
}

TEST(Kernels, WeightedRowsAreAddedInOrder) {
  Random random(34, "weighted rows");
  expect_weighted_rows_in_order<float>(random);
  expect_weighted_rows_in_order<double>(random);
}

}  // namespace
}  // namespace kvplan::attention
