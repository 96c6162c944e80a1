// Courses with placement=compact for policies that may keep any number of tokens: the dropped positions, or their
// number, are known. The table behaves as in counted_course.h: the unit that keeps most decides its length.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::core {

/// Stores a few numbers for each token. REQUIRES: placement is compact; memory frees single allocation units.
std::unique_ptr<const Course> make_gathered_course(const CourseShape& shape,
                                                   std::shared_ptr<const Drops> drops);

/// As in counted_course.h, a count may belong to another rank and then has no units here. REQUIRES: placement is
/// compact; memory frees single allocation units; some count has units; each list has final_tokens - prompt entries,
/// each between 0 and one more than the entry before it, the first at most the prompt.
std::unique_ptr<const Course> make_course_of_kept(const CourseShape& shape, std::vector<KeptUnits> units);

}  // namespace kvplan::core
