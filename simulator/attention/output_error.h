// By how much the attention output changes if only a part of the tokens is read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/attention/recording.h"

namespace kvplan::attention {

/// The sum of a_i v_i over tokens [0, tokens). REQUIRES: values.data set.
std::vector<double> attention_output(RowView row, std::int64_t tokens, ValueView values);

/// The same for the queries of one token after another, each computed when first needed: the reference for several
/// policies.
class FullOutputs {
 public:
  /// Output of query head `head` for the token at which the rows are, the last of `tokens`. REQUIRES: values exist.
  std::span<const double> of(const LayerRows& rows, std::int64_t tokens, std::int32_t head);

 private:
  struct Output {
    std::int64_t tokens{0};  ///< token count for which it was computed; 0: not computed yet
    std::vector<double> numbers;
  };
  std::vector<Output> outputs_;  ///< [query head]
};

/// o - o'| / |o| (Euclidean). 0 if both are zero; infinite if only o is. REQUIRES: equal sizes.
double relative_difference(std::span<const double> output, std::span<const double> other);

/// relative_difference with o = `output`, that of all tokens, and o' the sum of a_i v_i over `attended`, with weights
/// divided by their sum plus the sink's weight, which is never dropped. REQUIRES: `attended` ascending, below the
/// tokens of the row; values.data set.
double relative_output_error(std::span<const double> output, RowView row,
                             std::span<const std::int32_t> attended, ValueView values);

}  // namespace kvplan::attention
