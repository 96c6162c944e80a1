#include "simulator/core/followers.h"

#include <algorithm>

#include "simulator/core/course.h"

namespace kvplan::core {

void Followers::enter(Seat seat) {
  // A long prompt may become whole after those of younger requests.
  const auto place = std::find_if(members_.begin(), members_.end(),
                                  [&](Seat other) { return at(other).rank > at(seat).rank; });
  members_.insert(place, seat);
}

void Followers::gather_grants(std::int64_t step) {
  grants_.clear();
  next_ = 0;
  for (const Seat seat : members_)
    if (at(seat).course->grant(step + at(seat).offset).sum() > 0) grants_.push_back(seat);
}

Followers::Context Followers::context(std::int64_t step) const {
  Context context{0, 0};
  for (const Seat seat : members_) {
    const Course& course = *at(seat).course;
    const std::int64_t held = step + at(seat).offset;
    context.kept_tokens += course.kept_tokens(held);
    if (course.alike_steps(held) > 1)
      context.growth += course.kept_tokens(held + 1) - course.kept_tokens(held);
  }
  return context;
}

std::int64_t Followers::alike_steps(std::int64_t step) const {
  std::int64_t most = INT64_MAX;
  for (const Seat seat : members_)
    most = std::min(most, at(seat).course->alike_steps(step + at(seat).offset));
  return most;
}

}  // namespace kvplan::core
