// The input of a replacement policy: a use of a block, and the cache that the policy serves.
#pragma once

#include <cstdint>

namespace kvplan::replacement {

/// A content, numbered from 0 without gaps. A content that is evicted and inserted again keeps its id.
using Id = std::uint32_t;
inline constexpr Id kNoId = UINT32_MAX;
/// Ids are below this; the values above serve as marks.
inline constexpr Id kMostIds = UINT32_MAX - 64;

/// One use of a content by a request. Most policies need only the id.
struct Use {
  Id id{kNoId};
  std::uint32_t depth{0};     ///< blocks before it in the prompt
  std::uint32_t category{0};  ///< category of the request; below Room::categories
  std::int64_t time_ns{0};    ///< time of the request, from any origin; never less than at the previous use
};

/// The cache that a policy serves.
struct Room {
  Id ids{0};                    ///< ids are below this (see grow)
  std::int64_t capacity{0};     ///< blocks, at least 1; queues and histories are shares of this
  std::uint32_t categories{1};  ///< number of categories of requests
};

/// The rule that every block may be evicted.
struct AllMayGo {
  constexpr bool operator()(Id /*id*/) const { return true; }
};

}  // namespace kvplan::replacement
