// Courses of requests that have several tables: one for each layer, or for each KV head of each layer. A block then
// spans the cells of one table only, so what a policy drops there comes back from there, whatever others keep. This is
// how budgets that differ from layer to layer, or from head to head, free memory.
//
// Each table follows a course of its own, over the same tokens; what is asked of all is the sum. While the prompt is in
// work tables are alike, and grow together.
#pragma once

#include <memory>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::core {

/// So many tables in a row that follow alike courses.
struct AlikeTables {
  std::unique_ptr<const Course> course;  ///< of one of them
  std::int64_t tables{1};
};

/// Slots are those of the tables' allocation units: a sum of lengths, each a whole number of allocation units.
/// Allocation units, cells and what comes back are those of all tables; the entry of logical block b of table t is b
/// * tables + t.
/// REQUIRES: not empty; all courses are of one shape, memory returns allocation units.
std::unique_ptr<const Course> make_course_of_tables(std::vector<AlikeTables> tables);

}  // namespace kvplan::core
