// Courses of policies for which only the number of kept tokens matters, and that number follows from lengths alone
// (placement=compact). No recording is needed, and a course takes a few numbers however long the request is.
//
// The table of a request holds `table` cells in order, kept and dropped ones. Token n is written to cell `table`. When
// at least a block's worth of cells is dropped at the end of a step, the survivors move together at once: table = kept,
// and the blocks behind the first ceil(kept / block) are freed. Every step writes one token, so `table` grows from kept
// to at most a block more, then falls back to kept.
//
// Which tokens are dropped makes no difference. So all cells of a token are one unit, unless some layers or heads keep
// more than others. Then the units that keep most decide the length of the table, since all units write a token to the
// same cell of the table; where other units keep less, they have holes. The units that keep most may be on another rank
// with the same table; then no unit of this rank has that count.
#pragma once

#include "simulator/courses/course.h"

namespace kvplan::core {

/// `drops`: the dropped tokens, if they are known; they change no result. REQUIRES: placement is compact; memory frees
/// single allocation units; some count has units; `once` is true for all units or for none; no count has thinning; the
/// drops, if given, keep the same numbers of tokens.
std::unique_ptr<const Course> make_counted_course(const CourseShape& shape,
                                                  const std::vector<CountedUnits>& units,
                                                  std::shared_ptr<const Drops> drops = nullptr);

}  // namespace kvplan::core
