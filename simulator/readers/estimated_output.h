// The error of the attention output where some tokens are read and others estimated.
#pragma once

#include <span>

#include "simulator/readers/reader.h"

namespace kvplan::readers {

/// |o - o'| / |o| as attention::relative_output_error has it, with o = `output`. In o' each estimate stands beside the
/// tokens of `set`, in the softmax with so many times its weight, and with its values. REQUIRES: row.logits and
/// values.data set.
double estimated_output_error(std::span<const double> output, attention::RowView row, const ReadSet& set,
                              std::span<const Estimate> estimates, attention::ValueView values);

}  // namespace kvplan::readers
