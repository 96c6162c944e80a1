// Groups of a path's values, for analyses: one group for each value, or ranges if there are many numbers.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/scenario/vary.h"

namespace kvplan::sweep {

struct Groups {
  std::string path;
  std::vector<std::string> labels;                  ///< "20000", or "20000..24500"
  std::unordered_map<std::string, std::size_t> of;  ///< the group of each value
};

/// If there are at most `most` values, each is a group, in the order in which they are varied. If there are more, and
/// they are numbers, they are sorted and cut into `ranges` groups of equal size (the first groups may have one more).
/// REQUIRES: 1 <= ranges <= most. Errors: more values than that, not all of them numbers.
Result<Groups> groups_of(const runs::Vary& vary, std::size_t most, std::size_t ranges);

}  // namespace kvplan::sweep
