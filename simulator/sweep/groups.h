// Groups of a path's values for analyses: one for each value, or ranges if there are many numbers.
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

/// Up to `most` values form a group each, in the order in which they are varied. More numbers are sorted and cut into
/// `ranges` groups of equal size (the first ones may have one more). REQUIRES: 1 <= ranges <= most. Errors: more
/// values than that, not all of them numbers.
Result<Groups> groups_of(const runs::Vary& vary, std::size_t most, std::size_t ranges);

}  // namespace kvplan::sweep
