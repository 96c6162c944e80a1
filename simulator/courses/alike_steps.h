// Computes Course::alike_steps for courses that store an answer for every token.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::core {

/// Entry n - prompt is the answer for n. REQUIRES: the course's other functions already work for these n.
template <class C>
std::vector<std::int32_t> alike_steps_of(const C& course) {
  const std::int64_t prompt = course.shape().prompt;
  const std::int64_t last = course.shape().final_tokens - 1;
  const auto event = [&](std::int64_t n) { return course.returns_blocks(n) || course.grant(n).sum() > 0; };
  const auto during = [&](std::int64_t n) { return course.settled(n) + course.grant(n); };
  const auto growth = [&](std::int64_t n) { return during(n + 1) - during(n); };
  const auto read = [&](std::int64_t n) { return course.read_tokens(n + 1) - course.read_tokens(n); };
  std::vector<std::int32_t> out(static_cast<std::size_t>(last + 1 - prompt), 1);
  for (std::int64_t n = last; n >= prompt; --n) {
    std::int32_t& alike = out[static_cast<std::size_t>(n - prompt)];
    if (n == last || event(n + 1) || read(n) < 0 || read(n) > 1) continue;
    alike = 2;
    if (n + 1 == last || event(n + 2) || growth(n + 1) != growth(n) || read(n + 1) != read(n)) continue;
    alike = out[static_cast<std::size_t>(n + 1 - prompt)] + 1;
  }
  return out;
}

}  // namespace kvplan::core
