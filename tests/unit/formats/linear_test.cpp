// Singular vectors, bases, eigenvalues and clusters compared with their definitions, on random matrices of many shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/base/random.h"
#include "simulator/formats/clusters.h"
#include "simulator/formats/linear.h"
#include "simulator/formats/small_floats.h"
#include "tests/unit/formats/nearest.h"

namespace kvplan::formats {
namespace {

using test::nearest_code;
using test::values_of;

Matrix random_matrix(Random& random, std::size_t rows, std::size_t columns) {
  Matrix out(rows, columns);
  for (double& v : out.data) v = 2 * random.unit() - 1;
  return out;
}

double inner(std::span<const double> a, std::span<const double> b) {
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out += a[i] * b[i];
  return out;
}

TEST(FormatLinear, SingularVectorsAreOrthonormalAndHoldAllOfTheMatrix) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const auto rows = static_cast<std::size_t>(random.between(1, 40));
    const auto columns = static_cast<std::size_t>(random.between(1, 24));
    Matrix m = random_matrix(random, rows, columns);
    // Sometimes of low rank, or with columns of very different sizes.
    if (round % 3 == 1)
      for (std::size_t r = 1; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) m.at(r, c) = m.at(r / 4, c) * static_cast<double>(r + 1);
    if (round % 3 == 2)
      for (std::size_t r = 0; r < rows; ++r) m.at(r, 0) *= 1e6;
    const RightSingular found = right_singular(m);
    ASSERT_EQ(found.values.size(), std::min(rows, columns));
    const double first = found.values.front();
    double squares = 0;
    for (std::size_t i = 0; i < found.values.size(); ++i) {
      if (i > 0) {
        EXPECT_LE(found.values[i], found.values[i - 1]);
      }
      squares += found.values[i] * found.values[i];
      // The norm of M v is the singular value.
      double length = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        const double part = inner(m.row(r), found.vectors.row(i));
        length += part * part;
      }
      EXPECT_NEAR(std::sqrt(length), found.values[i], 1e-12 * (first + 1));
      for (std::size_t j = 0; j <= i; ++j)
        EXPECT_NEAR(inner(found.vectors.row(i), found.vectors.row(j)), i == j ? 1 : 0, 1e-12);
    }
    EXPECT_NEAR(squares, inner(m.data, m.data), 1e-11 * (squares + 1));
    // Projected on all of them, every row is unchanged.
    for (std::size_t r = 0; r < rows; ++r) {
      std::vector<double> x(m.row(r).begin(), m.row(r).end());
      project(found.vectors, found.values.size(), x);
      for (std::size_t c = 0; c < columns; ++c) EXPECT_NEAR(x[c], m.at(r, c), 1e-11 * (first + 1));
    }
  }
}

TEST(FormatLinear, EigenvaluesAreSquaresOfSingularValues) {
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    const auto n = static_cast<std::size_t>(random.between(1, 30));
    const Matrix m = random_matrix(random, static_cast<std::size_t>(random.between(1, 40)), n);
    Matrix product(n, n);
    for (std::size_t r = 0; r < m.rows; ++r)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) product.at(i, j) += m.at(r, i) * m.at(r, j);
    const auto values = symmetric_eigenvalues(product);
    const auto singular = right_singular(m).values;
    ASSERT_EQ(values.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const double expected = i < singular.size() ? singular[i] * singular[i] : 0;
      EXPECT_NEAR(values[i], expected, 1e-12 * (values.front() + 1));
    }
  }
  // A zero matrix, and one that is diagonal already.
  EXPECT_EQ(symmetric_eigenvalues(Matrix(3, 3)), (std::vector<double>{0, 0, 0}));
  Matrix diagonal(3, 3);
  for (std::size_t i = 0; i < 3; ++i) diagonal.at(i, i) = static_cast<double>(i) - 1;
  EXPECT_EQ(symmetric_eigenvalues(diagonal), (std::vector<double>{1, 0, -1}));
}

TEST(FormatLinear, ABasisSpansItsRows) {
  Random random(8);
  for (int round = 0; round < 40; ++round) {
    const auto columns = static_cast<std::size_t>(random.between(1, 20));
    Matrix rows = random_matrix(random, static_cast<std::size_t>(random.between(1, 20)), columns);
    if (rows.rows > 2)
      for (std::size_t c = 0; c < columns; ++c) rows.at(2, c) = rows.at(0, c) - 2 * rows.at(1, c);
    const Matrix basis = orthonormal_rows(rows);
    EXPECT_LE(basis.rows, std::min(rows.rows > 2 ? rows.rows - 1 : rows.rows, columns));
    for (std::size_t i = 0; i < basis.rows; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        EXPECT_NEAR(inner(basis.row(i), basis.row(j)), i == j ? 1 : 0, 1e-12);
    for (std::size_t r = 0; r < rows.rows; ++r) {
      std::vector<double> x(rows.row(r).begin(), rows.row(r).end());
      project(basis, basis.rows, x);
      for (std::size_t c = 0; c < columns; ++c) EXPECT_NEAR(x[c], rows.at(r, c), 1e-10);
    }
  }
}

TEST(FormatLinear, ClustersAreNearestAndMeans) {
  Random random(3);
  for (int round = 0; round < 30; ++round) {
    Matrix points = random_matrix(random, static_cast<std::size_t>(random.between(1, 60)), 3);
    if (round % 4 == 0)
      for (double& v : points.data) v = v > 0 ? 1 : 0;  // many equal points
    const std::int64_t clusters = random.between(1, 12);
    const Clusters found = cluster(points, clusters, 1000, Random(static_cast<std::uint64_t>(round)));
    ASSERT_EQ(found.centres.rows, std::min<std::size_t>(static_cast<std::size_t>(clusters), points.rows));
    ASSERT_EQ(found.labels.size(), points.rows);
    // Finished: every point is at a nearest centre, and every centre with points is their mean.
    Matrix sums(found.centres.rows, 3);
    std::vector<double> sizes(found.centres.rows);
    for (std::size_t i = 0; i < points.rows; ++i) {
      const auto distance = [&](std::size_t k) {
        double out = 0;
        for (std::size_t c = 0; c < 3; ++c)
          out += (points.at(i, c) - found.centres.at(k, c)) * (points.at(i, c) - found.centres.at(k, c));
        return out;
      };
      const auto own = static_cast<std::size_t>(found.labels[i]);
      for (std::size_t k = 0; k < found.centres.rows; ++k) EXPECT_LE(distance(own), distance(k));
      ++sizes[own];
      for (std::size_t c = 0; c < 3; ++c) sums.at(own, c) += points.at(i, c);
    }
    for (std::size_t k = 0; k < found.centres.rows; ++k)
      for (std::size_t c = 0; c < 3 && sizes[k] > 0; ++c)
        EXPECT_NEAR(found.centres.at(k, c), sums.at(k, c) / sizes[k], 1e-12);
  }
}

/// Rounds to the nearest value; between two equally near ones, to the even code.
TEST(FormatSmallFloats, RoundToTheNearestValue) {
  Random random(21);
  for (const SmallFloat& type : {kE4m3, kE5m2, kE2m1, kBinary16}) {
    const auto values = values_of(type);
    std::vector<double> numbers(values.begin(), values.end());
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const double half = (values[i] + values[i + 1]) / 2;
      numbers.insert(numbers.end(), {half, std::nextafter(half, 0.0), std::nextafter(half, 1e9)});
    }
    for (int i = 0; i < 2000; ++i)
      numbers.push_back(std::ldexp(random.unit(), static_cast<int>(random.between(-30, 20))));
    numbers.insert(numbers.end(), {type.largest * 1.04, type.largest * 1.3, 1e30, 5e-324});
    for (const double number : numbers) {
      const std::size_t code = nearest_code(values, number);
      const Rounded found = round_to(type, number);
      EXPECT_EQ(found.value, values[code]) << number;
      EXPECT_EQ(found.code, code) << number;
      const Rounded negative = round_to(type, -number);
      EXPECT_EQ(negative.value, -values[code]);
      EXPECT_TRUE(std::signbit(negative.value));
      EXPECT_EQ(negative.code, code + (1U << static_cast<unsigned>(type.exponent_bits + type.mantissa_bits)));
    }
  }
  EXPECT_EQ(to_single(0.1), static_cast<double>(0.1F));
}

}  // namespace
}  // namespace kvplan::formats
