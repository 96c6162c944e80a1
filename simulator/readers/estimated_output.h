// The error of the attention output if some tokens are read and others are only estimated.
#pragma once

#include <span>

#include "simulator/readers/reader.h"

namespace kvplan::readers {

/// o - o'| / |o| as in attention::relative_output_error, with o = `output`. In o' each estimate takes part in the
/// softmax beside the tokens of `set`, as `count` tokens of its weight, with its values. REQUIRES: row.logits and
/// values.data set.
double estimated_output_error(std::span<const double> output, attention::RowView row, const ReadSet& set,
                              std::span<const Estimate> estimates, attention::ValueView values);

}  // namespace kvplan::readers
