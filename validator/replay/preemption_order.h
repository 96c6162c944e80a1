// The state of the pass in progress, if requests other than the one admitted last may be preempted.
#pragma once

#include <cstdint>
#include <optional>

namespace kvplan::validator {

/// State of a pass by priority.
struct PassOrder {
  /// Chunks of running requests, or admissions, are being reported: no request is preempted any more in this pass.
  bool computing{false};
  /// If the latest fact is a preemption: rank of the request that may have been preempted because of its own growth.
  std::optional<std::int64_t> gave_way{};
  /// If that happened: its rank; decoding requests that were admitted after it are held back.
  std::optional<std::int64_t> reached{};
  std::int64_t held_until{-1};  ///< rank of the latest held-back request
};

}  // namespace kvplan::validator
