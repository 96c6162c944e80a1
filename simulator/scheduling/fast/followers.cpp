#include "simulator/scheduling/fast/followers.h"

#include <algorithm>

#include "simulator/courses/course.h"

namespace kvplan::core {

void Followers::enter(Slot slot) {
  // A long prompt may be completed after the prompts of younger requests.
  const auto place = std::find_if(members_.begin(), members_.end(),
                                  [&](Slot other) { return at(other).rank > at(slot).rank; });
  members_.insert(place, slot);
}

void Followers::gather_grants(std::int64_t step) {
  grants_.clear();
  for (const Slot slot : members_)
    if (at(slot).course->grant(step + at(slot).offset).sum() > 0) grants_.slots.push_back(slot);
}

void Followers::gather_fills(std::int64_t step, std::int64_t alloc_unit_tokens) {
  fills_.clear();
  for (const Slot slot : members_)
    if (!at(slot).sliding && steps_to_fill(slot, step, alloc_unit_tokens) == alloc_unit_tokens)
      fills_.slots.push_back(slot);
}

std::int64_t Followers::steps_to_fill(std::int64_t step, std::int64_t alloc_unit_tokens) const {
  std::int64_t least = INT64_MAX;
  for (const Slot slot : members_)
    if (!at(slot).sliding) least = std::min(least, steps_to_fill(slot, step, alloc_unit_tokens));
  return least;
}

bool Followers::drops(std::int64_t step, bool first) const {
  return std::ranges::any_of(members_, [&](Slot slot) {
    const Course& course = *at(slot).course;
    const std::int64_t held = step + at(slot).offset;
    if (held + 1 >= course.shape().final_tokens) return false;
    if (!at(slot).sliding && course.has_dropped(held + 1)) return true;
    return !first && course.dropped_cells(held + 1) > course.dropped_cells(held);
  });
}

Followers::Context Followers::context(std::int64_t step) const {
  Context context{0, 0};
  for (const Slot slot : members_) {
    const Course& course = *at(slot).course;
    const std::int64_t held = step + at(slot).offset;
    context.tokens += course.read_tokens(held);
    if (course.alike_steps(held) > 1)
      context.growth += course.read_tokens(held + 1) - course.read_tokens(held);
  }
  return context;
}

std::int64_t Followers::alike_steps(std::int64_t step) const {
  std::int64_t most = INT64_MAX;
  for (const Slot slot : members_)
    most = std::min(most, at(slot).course->alike_steps(step + at(slot).offset));
  return most;
}

}  // namespace kvplan::core
