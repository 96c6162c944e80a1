// Courses with placement=compact of policies that may keep any number of tokens: what goes is known. The table of a
// request does what it does where tokens are counted (counted_course.h), by the unit that keeps most.
#pragma once

#include <memory>

#include "simulator/core/course.h"

namespace kvplan::core {

/// Takes some numbers for each token. REQUIRES: placement is compact, memory returns quanta.
std::unique_ptr<const Course> make_gathered_course(const CourseShape& shape,
                                                   std::shared_ptr<const Drops> drops);

}  // namespace kvplan::core
