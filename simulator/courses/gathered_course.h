// Courses with placement=compact of policies that may keep any number of tokens: what goes is known, or how many go.
// The table of a request does what it does where tokens are counted (counted_course.h), by the unit that keeps most.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::core {

/// Takes some numbers for each token. REQUIRES: placement is compact, memory returns allocation units.
std::unique_ptr<const Course> make_gathered_course(const CourseShape& shape,
                                                   std::shared_ptr<const Drops> drops);

/// As counted_course.h has it, a count may be of another rank and have no units. REQUIRES: as above; some count has
/// units; of each final_tokens - prompt entries, each from 0 to one more than the one before, the first at most the
/// prompt.
std::unique_ptr<const Course> make_course_of_kept(const CourseShape& shape, std::vector<KeptUnits> units);

}  // namespace kvplan::core
