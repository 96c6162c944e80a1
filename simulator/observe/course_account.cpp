#include "simulator/observe/course_account.h"

#include <utility>

#include "simulator/base/check.h"

namespace kvplan::observe {

using core::Course;
using core::HeldCells;

void CourseAccount::set(Member& m, const HeldCells& held) {
  held_ -= m.held;
  m.held = held;
  held_ += held;
}

void CourseAccount::write(HeldCells& held, const Course& course, std::int64_t tokens) {
  held.live += (course.units() - course.metadata_units()) * tokens;
  held.metadata += course.metadata_units() * tokens;
  held.reserved -= course.units() * tokens;
}

void CourseAccount::enter(RequestId r, const Course& course, std::span<const BlockId> found) {
  Member& m = members_.enter(r);
  m.course = &course;
  inside_.push_back(r);
  if (shared_) shared_->enter(r, course, found);
  if (found.empty()) return;
  KVPLAN_CHECK(shared_.has_value(), r);
  m.written = std::ssize(found) * course.shape().alloc_unit_tokens;
  HeldCells held = course.granted(0, std::ssize(found));
  write(held, course, m.written);
  set(m, held);
  add_alloc_units(m, std::ssize(found));
}

void CourseAccount::grant_prompt(RequestId r, std::int64_t first, std::int64_t alloc_units,
                                 std::span<const BlockId> blocks) {
  if (shared_) shared_->grant(r, blocks);
  Member& m = member(r);
  const core::CourseShape& shape = m.course->shape();
  if (!shape.returns_alloc_units) m.beyond = m.course->units() * (alloc_units - shape.final_tokens);
  set(m, m.held + m.course->granted(first, alloc_units));
  add_alloc_units(m, alloc_units);
}

void CourseAccount::grant_next(RequestId r, std::int64_t alloc_units, BlockId block) {
  if (shared_) shared_->grant(r, {&block, 1});
  Member& m = member(r);
  KVPLAN_CHECK(m.whole, r);
  set(m, m.held + m.course->grant(m.written));
  add_alloc_units(m, alloc_units);
}

void CourseAccount::chunk(RequestId r, std::int64_t tokens) {
  member(r).chunk = tokens;
}

HeldCells CourseAccount::growth() const {
  HeldCells sum;
  for (const RequestId r : inside_) {
    const Member& m = member(r);
    KVPLAN_CHECK(m.whole && m.course->alike_steps(m.written) > 1, r);
    const std::int64_t n = m.written;
    const bool drops = m.course->dropped_cells(n + 1) > m.course->dropped_cells(n);
    KVPLAN_CHECK(!drops || !shared_ || !shared_->any(), r, n);
    sum += m.course->settled(n + 1) + m.course->grant(n + 1);
    sum -= m.course->settled(n) + m.course->grant(n);
  }
  return sum;
}

void CourseAccount::end_steps(std::int64_t steps, std::span<const RequestId> finishing) {
  for (const RequestId r : finishing) member(r).finishing = true;
  for (const RequestId r : inside_) {
    Member& m = member(r);
    const std::int64_t tokens = m.whole ? steps : std::exchange(m.chunk, 0);
    if (tokens == 0) continue;
    const Course& course = *m.course;
    const std::int64_t before = m.whole ? course.dropped_cells(m.written) : 0;
    m.written += tokens;
    HeldCells held = m.held;
    if (m.written < course.shape().prompt || m.finishing) {
      if (m.whole && m.written - 1 >= course.shape().prompt) {  // as during its last step
        held = course.settled(m.written - 1) + course.grant(m.written - 1);
        held.internal += m.beyond;
        write(held, course, 1);
        dropped_cells_ += course.dropped_cells(m.written - 1) - before;
        if (shared_) shared_->wrote(r, m.written - 1);
      } else {
        write(held, course, tokens);
        if (shared_ && !m.finishing) shared_->wrote(r, m.written);
      }
    } else {
      m.whole = true;
      held = course.settled(m.written) + course.returned_cells(m.written);
      held.internal += m.beyond;
      dropped_cells_ += course.dropped_cells(m.written) - before;
      if (shared_) shared_->wrote(r, m.written);
    }
    set(m, held);
  }
}

void CourseAccount::free_entries(RequestId r, std::int64_t written, std::int64_t alloc_units,
                                 std::span<const std::int32_t> entries) {
  if (shared_) shared_->free_entries(r, entries);
  Member& m = member(r);
  KVPLAN_CHECK(m.written == written, r, written);
  // With several tables, one may move survivors while another frees blocks; the first of these events sets the state
  // after both.
  HeldCells held = m.course->settled(written);
  held.internal += m.beyond;
  set(m, held);
  add_alloc_units(m, -alloc_units);
}

void CourseAccount::leave(RequestId r) {
  if (shared_) shared_->leave(r);
  set(member(r), {});
  add_alloc_units(member(r), -member(r).alloc_units);
  members_.leave(r);
  std::erase(inside_, r);
}

}  // namespace kvplan::observe
