// Courses of requests with several tables: one for each layer, or for each KV head of each layer. A block then covers
// the cells of one table only. So cells that one table drops free its blocks whatever other tables keep, and budgets
// that differ between layers or heads free memory.
//
// Each table follows a course of its own over the same tokens; the answers for the request are sums over tables. While
// the prompt is computed all tables are equally long and grow together.
#pragma once

#include <memory>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::core {

/// `tables` neighbouring tables that follow equal courses.
struct AlikeTables {
  std::unique_ptr<const Course> course;  ///< the course of each of them
  std::int64_t tables{1};
};

/// Slots are counted in the tables' allocation units: a sum of lengths, each a whole number of units. Allocation units,
/// cells and freed blocks are summed over tables; the entry of logical block b of table t is b * tables + t. REQUIRES:
/// `tables` is not empty; all courses have the same shape; memory frees single allocation units.
std::unique_ptr<const Course> make_course_of_tables(std::vector<AlikeTables> tables);

}  // namespace kvplan::core
