// Why an engine would not start: numbers that follow from a deployment, without a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/base/component.h"

namespace kvplan::model {

/// Kinds of obstacles; `need` is always more than `have`:
inline constexpr const char* kNoRoom =
    "weights-and-buffers";  ///< weights and buffers leave no room for one token of KV cache
inline constexpr const char* kStartMemory =
    "beside-the-share";  ///< other memory does not fit into the part that the rule leaves free
/// A request of the engine's length limit does not fit
inline constexpr const char* kLongestRequest = "longest-request";

/// An obstacle on one rank.
struct Obstacle {
  std::string obstacle;  ///< one of the above
  std::int64_t need{0}, have{0};
  Unit unit{Unit::kBytes};
  /// Settings of a scenario (PATH=VALUE); each of them alone removes this obstacle. Empty: none is known.
  std::vector<std::string> remedies{};
  bool operator==(const Obstacle&) const = default;
};

}  // namespace kvplan::model
