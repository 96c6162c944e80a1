// Courses with placement=compact of policies that may keep any number of tokens: what goes is known, or how many go.
// The table of a request does what it does where tokens are counted (counted_course.h), by the unit that keeps most.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/core/course.h"

namespace kvplan::core {

/// Takes some numbers for each token. REQUIRES: placement is compact, memory returns quanta.
std::unique_ptr<const Course> make_gathered_course(const CourseShape& shape,
                                                   std::shared_ptr<const Drops> drops);
/// Of units that all keep alike: `kept[i]` tokens of prompt + i, up to the last after which the request goes on. It may
/// go up and down. REQUIRES: as above; final_tokens - prompt entries, each from 0 to one more than the one before, the
/// first at most the prompt.
std::unique_ptr<const Course> make_course_of_kept(const CourseShape& shape, std::int64_t units,
                                                  const std::vector<std::int64_t>& kept);

}  // namespace kvplan::core
