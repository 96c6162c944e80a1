// Why an engine would not start, as numbers that follow from a deployment without a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/base/component.h"

namespace kvplan::model {

/// Values of obstacles, of which `need` is always more than `have`:
inline constexpr const char* kNoRoom =
    "weights-and-buffers";  ///< they leave no room for one token of KV cache
inline constexpr const char* kStartMemory =
    "beside-the-share";  ///< what has to fit into what the rule leaves
inline constexpr const char* kLongestRequest = "longest-request";  ///< one of the engine's limit has to fit

/// Of one rank.
struct Obstacle {
  std::string obstacle;  ///< one of the above
  std::int64_t need{0}, have{0};
  Unit unit{Unit::kBytes};
  /// Settings of a scenario (PATH=VALUE), each of which by itself takes this obstacle away; empty where none is known.
  std::vector<std::string> remedies{};
  bool operator==(const Obstacle&) const = default;
};

}  // namespace kvplan::model
