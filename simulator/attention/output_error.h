// How far the attention output moves when only a part of the tokens is read.
#pragma once

#include <cstdint>
#include <span>

#include "simulator/attention/recording.h"

namespace kvplan::attention {

/// |o - o'| / |o| (Euclidean) with o = sum of a_i v_i over tokens [0, tokens), and o' the same over
/// `attended` with the weights divided by their sum and the sink's, which is never dropped. 0 where o is zero and o'
/// too; infinite where only o is zero. REQUIRES: `attended` ascending, below `tokens`; values.data set.
double relative_output_error(RowView row, std::int64_t tokens, std::span<const std::int32_t> attended,
                             ValueView values);

}  // namespace kvplan::attention
