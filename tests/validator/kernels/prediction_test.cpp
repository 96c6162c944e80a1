// Times between rows of a grid.
#include "validator/kernels/prediction.h"

#include <gtest/gtest.h>

namespace kvplan::validator {
namespace {

/// Time that is linear in tokens is predicted exactly, and grid points keep their measured times.
TEST(Prediction, LinearInTokens) {
  Grid grid;
  const auto time = [](double batch, double length) { return 12'000 + 3.5 * batch * length; };
  for (const double batch : {1.0, 4.0, 16.0})
    for (const double length : {128.0, 512.0, 4096.0}) grid.add("a", {batch, length}, time(batch, length));
  for (const double batch : {1.0, 3.0, 4.0, 11.0, 16.0})
    for (const double length : {128.0, 300.0, 2000.0, 9000.0})
      EXPECT_NEAR(*grid.predict("a", {batch, length}), time(batch, length), 1e-6 * time(batch, length));
  EXPECT_EQ(*grid.predict("a", {4, 512}), time(4, 512));
  EXPECT_FALSE(grid.predict("b", {4, 512}).has_value());
  EXPECT_FALSE(grid.predict("a", {17, 512}).has_value());
}

TEST(Prediction, RaggedBatchesCountByTheirTokens) {
  Case of;
  of.lengths = {100, 300, 1000};
  EXPECT_EQ(axes_of(of).batch, 3);
  EXPECT_NEAR(axes_of(of).length * axes_of(of).batch, 1400, 1e-9);
  Case other = of;
  other.lengths = {7};
  EXPECT_EQ(group_of(of), group_of(other));
  other.page_tokens = 32;
  EXPECT_NE(group_of(of), group_of(other));
}

TEST(Prediction, Errors) {
  const PredictionErrors e = prediction_errors({110, 90, 100, 200}, {100, 100, 100, 100});
  EXPECT_EQ(e.rows, 4);
  EXPECT_NEAR(e.median, 0.1, 1e-12);
  EXPECT_NEAR(e.worst, 1, 1e-12);
  EXPECT_NEAR(e.p90, 1, 1e-12);
  EXPECT_NEAR(e.bias, 0.25, 1e-12);
  EXPECT_NEAR(prediction_errors({1, 2, 3}, {10, 20, 30}).rank_correlation, 1, 1e-12);
  EXPECT_NEAR(prediction_errors({3, 2, 1}, {10, 20, 30}).rank_correlation, -1, 1e-12);
  EXPECT_EQ(prediction_errors({}, {}).rows, 0);
}

}  // namespace
}  // namespace kvplan::validator
