// The values of a path as analyses tell them apart: each by itself, or, where there are many numbers, ranges of them.
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

/// Up to `most` values are a group each, in the order in which they are varied. More numbers are put in order and cut
/// into `ranges` groups of as many values, or one more in the first ones. REQUIRES: 1 <= ranges <= most. Errors: more
/// values than that, not all of which are numbers.
Result<Groups> groups_of(const plan::Vary& vary, std::size_t most, std::size_t ranges);

}  // namespace kvplan::sweep
