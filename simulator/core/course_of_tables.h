// Courses of requests that have several tables: one for each layer, or for each stored head of each layer. A block then
// spans the cells of one table only, so what a policy drops there comes back from there, whatever others keep. This is
// how budgets that differ from layer to layer, or from head to head, free memory.
//
// Each table follows a course of its own, over the same tokens; what is asked of all is the sum. While the prompt is in
// work tables are alike, and grow together.
#pragma once

#include <memory>
#include <vector>

#include "simulator/core/course.h"

namespace kvplan::core {

/// So many tables in a row that follow alike courses.
struct AlikeTables {
  std::unique_ptr<const Course> course;  ///< of one of them
  std::int64_t tables{1};
};

/// Slots are those of the tables' quanta: a sum of lengths, each a whole number of quanta. Quanta, cells and what comes
/// back are those of all tables; the entry of logical block b of table t is b * tables + t.
/// REQUIRES: not empty; all courses are of one shape, memory returns quanta.
std::unique_ptr<const Course> make_course_of_tables(std::vector<AlikeTables> tables);

/// Some neighbouring tracks of what a policy drops, `units` units each.
class DropsOfTable final : public Drops {
 public:
  DropsOfTable(std::shared_ptr<const Drops> all, std::int32_t first, std::int32_t tracks, std::int32_t units)
      : all_(std::move(all)), first_(first), units_(static_cast<std::size_t>(tracks), units) {}
  [[nodiscard]] std::span<const std::int32_t> track_units() const override { return units_; }
  void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const override {
    all_->dropped(first_ + track, n, positions);
  }

 private:
  std::shared_ptr<const Drops> all_;
  std::int32_t first_;
  std::vector<std::int32_t> units_;
};

}  // namespace kvplan::core
