// A second implementation of the policies, directly from their definitions: sets and maps, full sorts, every row
// restricted and normalised anew. Shares no code with simulator/attention.
#pragma once

#include <cstdint>
#include <string>

#include "tests/unit/attention/inputs.h"

namespace kvplan::attention {

struct NaivePolicy {
  enum class Kind { kAll, kInterval, kH2o, kTova, kTopK } kind{Kind::kAll};
  int a{0};  ///< sink, hh, budget or k
  int b{0};  ///< recent
  bool raw{false};
  int group{1};
  bool max{false};  ///< combine the rows of a group by their maximum
};

/// Sets and masses in the form of run_policy (no errors, no summary).
Outcome run_naive(const Rows& rows, const NaivePolicy& policy, int prompt);

}  // namespace kvplan::attention
