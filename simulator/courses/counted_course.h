// Courses of policies whose kept tokens are known in number from lengths alone, with placement=compact: no recording
// is needed, and a course takes a few numbers however long the request is.
//
// The table of a request holds `table` cells in order, kept ones and dropped ones. Token n is written to cell `table`.
// When at least a block's worth of its cells is dropped at the end of a step, the survivors move together at once:
// table = kept, and the blocks behind the first ceil(kept / block) come back. Every step writes one token, so the
// table goes round: from kept up to a block more, and back.
//
// Which tokens go changes nothing of this, so all cells of a token are one unit, but where some layers or heads keep
// more than others: then the one that keeps most decides what the table does, for all of them write a token to the same
// cell of it, and what the others keep less is holes. Who keeps most may be on another rank, which has the same table:
// no unit of this one has that count.
#pragma once

#include "simulator/courses/course.h"

namespace kvplan::core {

/// `drops`: which tokens go, where somebody knows; changes no figure. REQUIRES: placement is compact, memory returns
/// allocation units; some count has units; all units are cut once, or none is; none is thinned; the drops, if there
/// are any, keep as many tokens.
std::unique_ptr<const Course> make_counted_course(const CourseShape& shape,
                                                  const std::vector<CountedUnits>& units,
                                                  std::shared_ptr<const Drops> drops = nullptr);

}  // namespace kvplan::core
