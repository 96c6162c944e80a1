#include "simulator/courses/course_of_tables.h"

#include <utility>

#include "simulator/base/check.h"

namespace kvplan::core {
namespace {

HeldCells times(std::int64_t tables, const HeldCells& cells) {
  return {.live = tables * cells.live,
          .reserved = tables * cells.reserved,
          .hole = tables * cells.hole,
          .tail = tables * cells.tail,
          .padding = tables * cells.padding,
          .internal = tables * cells.internal};
}

/// Sums are computed once, since they are needed in every step. A table is visited only when it has an event; in the
/// equal steps in between it adds a straight line.
class CourseOfTables final : public Course {
 public:
  explicit CourseOfTables(std::vector<AlikeTables> parts)
      : Course(parts.front().course->shape(), 0), parts_(std::move(parts)) {
    for (const AlikeTables& part : parts_) {
      tables_ += part.tables;
      units_ += part.tables * part.course->units();
    }
    const auto steps = static_cast<std::size_t>(shape_.final_tokens - shape_.prompt);
    after_.resize(steps);
    lines_.resize(steps + 1);
    std::vector<std::vector<std::int32_t>> freed_entries(steps);
    std::int64_t first_table = 0;
    for (const AlikeTables& part : parts_) {
      add(part, first_table, freed_entries);
      first_table += part.tables;
    }
    std::int64_t alloc_units = tables_ * alloc_units_of(shape_.prompt);
    Line now;
    for (std::size_t i = 0; i < steps; ++i) {
      now.value += now.slope;
      now.value += lines_[i].value;
      now.slope += lines_[i].slope;
      now.alloc_units += lines_[i].alloc_units;
      alloc_units = finish(after_[i], now, alloc_units);
      after_[i].freed_begin = freed_.size();
      freed_.insert(freed_.end(), freed_entries[i].begin(), freed_entries[i].end());
      after_[i].freed_end = freed_.size();
    }
    find_alike_steps();
    lines_.clear();
  }

  [[nodiscard]] std::vector<TableRun> tables() const override {
    std::vector<TableRun> runs;
    for (const AlikeTables& part : parts_) runs.push_back({part.course.get(), part.tables});
    return runs;
  }
  [[nodiscard]] std::int64_t table_slots(std::int64_t n) const override {
    return n <= shape_.prompt ? tables_ * alloc_units_of(n) * shape_.alloc_unit_tokens
                              : at(n - 1).slots_of_next;
  }
  [[nodiscard]] HeldCells granted(std::int64_t first, std::int64_t alloc_units) const override {
    KVPLAN_CHECK(first % tables_ == 0 && alloc_units % tables_ == 0, first, alloc_units);
    HeldCells cells;
    for (const AlikeTables& part : parts_)
      cells += times(part.tables, part.course->granted(first / tables_, alloc_units / tables_));
    return cells;
  }
  [[nodiscard]] HeldCells settled(std::int64_t n) const override { return at(n).settled; }
  [[nodiscard]] HeldCells grant(std::int64_t n) const override { return at(n).grant; }
  [[nodiscard]] std::span<const std::int32_t> freed_entries(std::int64_t n) const override {
    const After& after = at(n);
    return std::span(freed_).subspan(after.freed_begin, after.freed_end - after.freed_begin);
  }
  [[nodiscard]] std::optional<Compaction> compaction(std::int64_t n) const override {
    return at(n).cut == 0 ? std::nullopt : std::optional(at(n).moved);
  }
  [[nodiscard]] HeldCells returned_cells(std::int64_t n) const override { return at(n).returned; }
  [[nodiscard]] std::int64_t alike_steps(std::int64_t n) const override { return at(n).alike; }

 private:
  struct After {
    HeldCells settled, grant, returned;
    Compaction moved;
    std::int64_t cut{0};  ///< allocation units freed because survivors moved
    std::int64_t slots_of_next{0};
    std::size_t freed_begin{0}, freed_end{0};
    std::int64_t alike{1};
  };
  [[nodiscard]] std::size_t place(std::int64_t n) const {
    return static_cast<std::size_t>(n - shape_.prompt);
  }
  [[nodiscard]] const After& at(std::int64_t n) const { return after_[place(n)]; }
  [[nodiscard]] std::int64_t alloc_units_of(std::int64_t slots) const {
    return ceil_div(slots, shape_.alloc_unit_tokens);
  }

  /// What a table adds from some n on: to the settled cells, and to the length of all tables for the next token.
  struct Line {
    HeldCells value, slope;  ///< value at the first n, and increase with each further one
    std::int64_t alloc_units{0};
    bool event{false};  ///< the table may have an event here
  };

  void add(const AlikeTables& part, std::int64_t first_table,
           std::vector<std::vector<std::int32_t>>& freed_entries) {
    const Course& course = *part.course;
    for (std::int64_t n = shape_.prompt; n < shape_.final_tokens;) {
      const std::int64_t steps = course.alike_steps(n);
      After& after = after_[place(n)];
      const HeldCells settled = course.settled(n);
      const HeldCells grant = course.grant(n);
      after.grant += times(part.tables, grant);
      after.returned += times(part.tables, course.returned_cells(n));
      if (const auto moved = course.compaction(n)) {
        after.moved.kept_cells += part.tables * moved->kept_cells;
        after.cut += part.tables * (moved->alloc_units_before - moved->alloc_units);
      }
      for (const std::int32_t block : course.freed_entries(n))
        for (std::int64_t t = first_table; t < first_table + part.tables; ++t)
          freed_entries[place(n)].push_back(static_cast<std::int32_t>(block * tables_ + t));
      // Cells granted for token n are settled with the next token.
      const HeldCells during = settled + grant;
      add_line(n, n + 1, times(part.tables, settled), {});
      if (steps > 1)
        add_line(n + 1, n + steps, times(part.tables, course.settled(n + 1)),
                 times(part.tables, course.settled(n + 1) - during));
      const std::int64_t length = part.tables * alloc_units_of(course.table_slots(n + 1));
      lines_[place(n)].alloc_units += length;
      n += steps;
      lines_[place(n)].alloc_units -= length;
      lines_[place(n)].event = true;
    }
  }

  void add_line(std::int64_t begin, std::int64_t end, const HeldCells& value, const HeldCells& slope) {
    lines_[place(begin)].value += value;
    lines_[place(begin)].slope += slope;
    lines_[place(end)].value -= value + times(end - begin, slope);
    lines_[place(end)].slope -= slope;
  }

  /// `alloc_units`: length of all tables until then. Returns the length for the next token.
  std::int64_t finish(After& after, const Line& now, std::int64_t alloc_units) const {
    after.settled = now.value;
    after.moved.alloc_units_before = alloc_units;
    after.moved.alloc_units = alloc_units - after.cut;
    after.slots_of_next = now.alloc_units * shape_.alloc_unit_tokens;
    return now.alloc_units;
  }

  /// Steps that are equal in every table are equal in the sum, as long as the number of tokens read grows as in the
  /// first two steps: it is rounded.
  void find_alike_steps() {
    std::int64_t event = shape_.final_tokens;
    for (std::int64_t n = shape_.final_tokens - 1; n >= shape_.prompt; --n) {
      if (lines_[place(n + 1)].event) event = n + 1;
      std::int64_t steps = 1;
      const auto more = [&](std::int64_t k) { return read_tokens(n + k) - read_tokens(n + k - 1); };
      while (steps < event - n && more(1) >= 0 && more(1) <= 1 && more(steps) == more(1)) ++steps;
      after_[place(n)].alike = steps;
    }
  }

  std::vector<AlikeTables> parts_;
  std::int64_t tables_{0};
  std::vector<After> after_;  ///< [n - prompt]
  std::vector<Line> lines_;   ///< temporary, while sums are computed
  std::vector<std::int32_t> freed_;
};

}  // namespace

std::unique_ptr<const Course> make_course_of_tables(std::vector<AlikeTables> tables) {
  KVPLAN_CHECK(!tables.empty());
  const CourseShape& first = tables.front().course->shape();
  for (const auto& [course, count] : tables) {
    const CourseShape& shape = course->shape();
    KVPLAN_CHECK(count >= 1 && shape.returns_alloc_units && shape.prompt == first.prompt &&
                     shape.final_tokens == first.final_tokens &&
                     shape.alloc_unit_tokens == first.alloc_unit_tokens,
                 shape.prompt, shape.final_tokens);
  }
  return std::make_unique<CourseOfTables>(std::move(tables));
}

}  // namespace kvplan::core
