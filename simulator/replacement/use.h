// What a replacement policy is told: of a use of a block, and of the cache that it serves.
#pragma once

#include <cstdint>

namespace kvplan::replacement {

/// A content, from 0 without gaps. What is given up and comes back has the same id.
using Id = std::uint32_t;
inline constexpr Id kNoId = UINT32_MAX;
/// Ids are below this, so that a few values are left for marks.
inline constexpr Id kMostIds = UINT32_MAX - 64;

/// One use of a content by a request. A policy looks at what it needs; most need the id alone.
struct Use {
  Id id{kNoId};
  std::uint32_t depth{0};     ///< blocks before it in the prompt
  std::uint32_t category{0};  ///< of the request; below Room::categories
  std::int64_t time_ns{0};  ///< when the request came, from any moment on; never less than at the use before
};

/// The cache that a policy serves.
struct Room {
  Id ids{0};                    ///< ids are below this (see grow)
  std::int64_t capacity{0};     ///< blocks, at least 1; shares of queues and histories are of this
  std::uint32_t categories{1};  ///< of requests
};

/// Which blocks may be given up, where all may.
struct AllMayGo {
  constexpr bool operator()(Id /*id*/) const { return true; }
};

}  // namespace kvplan::replacement
