// Courses of policies whose kept tokens are known in number from lengths alone, with placement=compact: no recording
// is needed, and a course takes a few numbers however long the request is.
//
// The table of a request holds `table` cells in order, kept ones and dropped ones. Token n is written to cell `table`.
// When at least a block's worth of its cells is dropped at the end of a step, the survivors move together at once:
// table = kept, and the blocks behind the first ceil(kept / block) come back. Every step writes one token, so the
// table goes round: from kept up to a block more, and back.
//
// Which tokens go changes nothing of this, so all cells of a token are one unit, but where some layers keep more than
// others: then the one that keeps most decides what the table does, for all layers write a token to the same cell of
// it, and what the others keep less is holes.
#pragma once

#include "simulator/core/course.h"

namespace kvplan::core {

/// How many tokens stay, `prompt` being those that an admission computes before it samples one.
struct KeptCount {
  std::int64_t budget{1};  ///< >= 1
  bool once{false};        ///< only the prompt is cut; whatever comes later stays

  /// Of n tokens. REQUIRES: n >= prompt.
  [[nodiscard]] std::int64_t of(std::int64_t n, std::int64_t prompt) const {
    if (once) return (prompt < budget ? prompt : budget) + (n - prompt);
    return n < budget ? n : budget;
  }
  friend bool operator==(const KeptCount&, const KeptCount&) = default;
};

/// So many units that keep alike.
struct CountedUnits {
  KeptCount kept;
  std::int64_t units{1};
};

/// REQUIRES: placement is compact, memory returns quanta; several only of those that are cut once.
std::unique_ptr<const Course> make_counted_course(const CourseShape& shape,
                                                  const std::vector<CountedUnits>& units);

}  // namespace kvplan::core
