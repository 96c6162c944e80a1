// kvplan's elementary functions compared with those of the C library, which are exact to about a unit in the last
// place.
#include "simulator/base/real.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simulator/base/random.h"

namespace kvplan {
namespace {

TEST(Real, HyperbolicTangentIsThatOfTheLibrary) {
  Random random(1, "tanh");
  for (int i = 0; i < 20000; ++i) {
    const double x = (random.chance(1, 2) ? 1 : -1) * std::pow(10.0, 12 * random.unit() - 10);
    EXPECT_NEAR(hyperbolic_tangent(x), std::tanh(x), 4e-16) << x;
    EXPECT_NEAR(hyperbolic_tangent(x) / std::tanh(x), 1, 1e-14) << x;
  }
  EXPECT_EQ(hyperbolic_tangent(0), 0);
  EXPECT_EQ(hyperbolic_tangent(1e300), 1);
  EXPECT_EQ(hyperbolic_tangent(-1e300), -1);
}

TEST(Real, AnglesAreThoseOfTheLibrary) {
  Random random(3, "arc");
  for (int i = 0; i < 20000; ++i) {
    const double near = std::pow(10.0, -16 * random.unit());
    const double x = random.chance(1, 2) ? 2 * random.unit() - 1 : random.chance(1, 2) ? 1 - near : near - 1;
    EXPECT_NEAR(arc_cosine(x), std::acos(x), 1e-15) << x;
    EXPECT_NEAR(sine_cosine(arc_cosine(x)).cosine, x, 1e-15) << x;
  }
  EXPECT_EQ(arc_cosine(1), 0);
  EXPECT_EQ(arc_cosine(-1), std::acos(-1.0));
  EXPECT_EQ(arc_cosine(0), std::acos(0.0));
}

TEST(Real, SinesAreThoseOfTheLibrary) {
  Random random(2, "sine");
  for (int i = 0; i < 20000; ++i) {
    const double x = (random.chance(1, 2) ? 1 : -1) * std::pow(10.0, 16 * random.unit() - 10);
    const double allowed = 4e-16 * std::max(1.0, std::fabs(x));
    EXPECT_NEAR(sine_cosine(x).sine, std::sin(x), allowed) << x;
    EXPECT_NEAR(sine_cosine(x).cosine, std::cos(x), allowed) << x;
  }
  EXPECT_EQ(sine_cosine(0).sine, 0);
  EXPECT_EQ(sine_cosine(0).cosine, 1);
}

}  // namespace
}  // namespace kvplan
