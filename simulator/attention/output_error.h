// How far the attention output moves when only a part of the tokens is read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/attention/recording.h"

namespace kvplan::attention {

/// The sum of a_i v_i over tokens [0, tokens). REQUIRES: values.data set.
std::vector<double> attention_output(RowView row, std::int64_t tokens, ValueView values);

/// |o - o'| / |o| (Euclidean). 0 where both are zero; infinite where only o is. REQUIRES: of one size.
double relative_difference(std::span<const double> output, std::span<const double> other);

/// relative_difference with o = sum of a_i v_i over tokens [0, tokens), and o' the same over `attended` with the
/// weights divided by their sum and the sink's, which is never dropped. REQUIRES: `attended` ascending, below `tokens`;
/// values.data set.
double relative_output_error(RowView row, std::int64_t tokens, std::span<const std::int32_t> attended,
                             ValueView values);
/// The same where o = attention_output(row, tokens, values) is at hand, for several sets of one row.
double relative_output_error(std::span<const double> output, RowView row,
                             std::span<const std::int32_t> attended, ValueView values);

}  // namespace kvplan::attention
