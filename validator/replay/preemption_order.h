// What a replay knows of the pass in progress where a request other than the one admitted last may be preempted.
#pragma once

#include <cstdint>
#include <optional>

namespace kvplan::validator {

/// State of a pass by priority.
struct PassOrder {
  /// What running requests compute, or admissions, are being reported: no request is preempted any more.
  bool computing{false};
  /// Rank of the request that may have been preempted because of its own growth, if that is the latest fact.
  std::optional<std::int64_t> gave_way{};
  /// That happened: decoding requests that were admitted after it are held back.
  std::optional<std::int64_t> reached{};
  std::int64_t held_until{-1};  ///< rank of the latest held-back request
};

}  // namespace kvplan::validator
