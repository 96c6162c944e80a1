// Readers implemented by their definitions: computed from all keys and queries at every step, with sorted lists, maps.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "tests/unit/readers/support.h"

namespace kvplan::readers::testing {

struct NaiveRead {
  std::vector<std::set<std::int32_t>> sets;  ///< [query head]
  std::vector<std::int64_t> kept_metadata;   ///< [KV head] bytes
  std::vector<std::int64_t> read_metadata;   ///< [KV head] metadata bytes for the choices of its query heads
  /// Positions with 4 bytes of metadata when they are read.
  std::set<std::int32_t> listed;
  /// [query head] sets of unread tokens that share the logit of the mean of their keys; may be empty.
  std::vector<std::vector<std::set<std::int32_t>>> estimated;
  /// True if a decision depends on sums that are equal except for rounding: which is larger then depends on how
  /// exponentials are computed.
  bool by_a_hair{false};
};

/// For every member of the family: the reads of one step.
NaiveRead naive_read(const Lane& lane, const LayerTensors& in, std::int32_t layer, std::int64_t prompt,
                     std::int64_t t);

/// One row: weights of tokens 0 .. t, and the output over a set of them.
struct NaiveRow {
  std::vector<double> logits;  ///< minus infinity if the window hides a token
  std::vector<double> weights;
};
NaiveRow naive_row(const LayerTensors& in, std::int32_t query_head, std::int64_t t);
double naive_error(const LayerTensors& in, std::int32_t query_head, std::int64_t t,
                   const std::set<std::int32_t>& set,
                   const std::vector<std::set<std::int32_t>>& estimated = {});

}  // namespace kvplan::readers::testing
