// Courses compared with a walk over single cells: placement by searching for the lowest slot, states by looking at
// every cell and at all later tokens.
#include "simulator/courses/course.h"

#include <gtest/gtest.h>

#include "tests/support/course_walk.h"
#include "tests/support/random_drops.h"

namespace kvplan {
namespace {

using core::Course;
using core::CourseShape;
using core::HeldCells;
using core::Placement;
using test::Walk;

bool operator_equal(const HeldCells& a, const HeldCells& b, const char* what, std::int64_t n) {
  EXPECT_EQ(a.live, b.live) << what << " " << n;
  EXPECT_EQ(a.reserved, b.reserved) << what << " " << n;
  EXPECT_EQ(a.hole, b.hole) << what << " " << n;
  EXPECT_EQ(a.tail, b.tail) << what << " " << n;
  EXPECT_EQ(a.padding, b.padding) << what << " " << n;
  EXPECT_EQ(a.internal, b.internal) << what << " " << n;
  return a == b;
}

void compare(const CourseShape& shape, const std::shared_ptr<const core::Drops>& drops) {
  const auto course = Course::make(shape, drops);
  Walk whole(shape, *drops);
  whole.prompt();
  for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
    whole.drop(n);
    whole.freed_entries();
    whole.write(n);
  }
  Walk walk(shape, *drops);
  walk.grant_to(shape.prompt);
  ASSERT_TRUE(operator_equal(course->granted(0, walk.granted()), walk.count(whole), "granted", 0));
  walk.prompt();
  for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
    walk.drop(n);
    ASSERT_EQ(course->has_dropped(n), walk.has_dropped());
    HeldCells before = walk.count(whole);
    const auto gone = walk.freed_entries();
    const auto told = course->freed_entries(n);
    ASSERT_EQ(gone, std::vector<std::int32_t>(told.begin(), told.end())) << n;
    ASSERT_TRUE(operator_equal(course->settled(n), walk.count(whole), "settled", n));
    const HeldCells now = walk.count(whole);
    ASSERT_EQ(course->read_tokens(n),
              ceil_div(shape.reads_holes ? now.live + now.hole : now.live, course->units()))
        << n;
    ASSERT_TRUE(operator_equal(course->settled(n) + course->returned_cells(n), before, "before", n));
    const std::int64_t had = walk.granted();
    Walk next = walk;
    const std::int64_t reach = next.write(n);
    walk.grant_to(reach);
    ASSERT_GE(course->table_slots(n + 1), reach);
    ASSERT_EQ(shape.returns_alloc_units ? ceil_div(course->table_slots(n + 1), shape.alloc_unit_tokens) : had,
              walk.granted())
        << n;
    ASSERT_TRUE(operator_equal(course->settled(n) + course->grant(n), walk.count(whole), "during", n));
    walk.write(n);
  }
  // Steps counted as alike are equal, and no event is among them.
  for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
    const std::int64_t steps = course->alike_steps(n);
    ASSERT_GE(steps, 1);
    ASSERT_LE(n + steps, shape.final_tokens);
    const auto during = [&](std::int64_t m) { return course->settled(m) + course->grant(m); };
    for (std::int64_t k = 1; k < steps; ++k) {
      ASSERT_TRUE(course->freed_entries(n + k).empty());
      ASSERT_EQ(course->has_dropped(n + k), course->has_dropped(n + 1));
      ASSERT_EQ(course->grant(n + k).sum(), 0);
      ASSERT_EQ(during(n + k) - during(n + k - 1), during(n + 1) - during(n));
      ASSERT_EQ(course->read_tokens(n + k) - course->read_tokens(n + k - 1),
                course->read_tokens(n + 1) - course->read_tokens(n));
    }
  }
}

TEST(Course, EqualsAWalkOverCells) {
  std::int64_t returned = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "courses");
    CourseShape shape;
    shape.prompt = random.between(1, 40);
    shape.final_tokens = shape.prompt + random.between(0, 40);
    shape.returns_alloc_units = random.chance(3, 4);
    shape.alloc_unit_tokens = shape.returns_alloc_units ? random.between(1, 9) : 1;
    shape.placement = random.chance(1, 2) ? Placement::kHoles : Placement::kReuse;
    shape.reads_holes = seed % 2 == 0;
    const auto drops =
        std::make_shared<test::RandomDrops>(random, shape.prompt, shape.final_tokens, random.chance(1, 2));
    compare(shape, drops);
    if (HasFailure()) return;
    const auto course = Course::make(shape, drops);
    for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n)
      returned += static_cast<std::int64_t>(course->freed_entries(n).size());
  }
  EXPECT_GT(returned, 500);
}

}  // namespace
}  // namespace kvplan
