// Courses of policies for which only the number of kept tokens matters, and that number follows from lengths alone
// (placement=compact). No recording is needed, and a course takes a few numbers however long the request is.
//
// The table of a request holds `table` cells in order, kept and dropped ones. Token n is written to cell `table`. When
// at least a block's worth of cells is dropped at the end of a step, the survivors move together at once: table = kept,
// and the blocks behind the first ceil(kept / block) are freed. Every step writes one token, so `table` cycles: from
// kept up to a block more, and back.
//
// Which tokens are dropped makes no difference, so all cells of a token are one unit, unless some layers or heads keep
// more than others. Then the one that keeps most decides what the table does, since all of them write a token to the
// same cell of the table; what the others keep less is holes. The one that keeps most may be on another rank with the
// same table: then no unit of this rank has that count.
#pragma once

#include "simulator/courses/course.h"

namespace kvplan::core {

/// `drops`: the dropped tokens, if they are known; changes no result. REQUIRES: placement is compact; memory frees
/// single allocation units; some count has units; either all units are cut once or none is; none is thinned; the
/// drops, if given, keep the same numbers of tokens.
std::unique_ptr<const Course> make_counted_course(const CourseShape& shape,
                                                  const std::vector<CountedUnits>& units,
                                                  std::shared_ptr<const Drops> drops = nullptr);

}  // namespace kvplan::core
