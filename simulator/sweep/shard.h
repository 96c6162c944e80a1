// A share of the cases of a sweep: shard K of N.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::sweep {

struct Shard {
  std::int64_t index{1};  ///< K, from 1 to count
  std::int64_t count{1};  ///< N
  bool operator==(const Shard&) const = default;
  [[nodiscard]] std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }
};

/// The rule that a shard's database names: shards of one sweep must be made by the same rule.
inline constexpr const char* kShardRule = "every N-th case";
/// The cases of a shard, in order: every N-th one, from case K - 1 on (the first case is 0). REQUIRES: `cases` >= 0.
std::vector<std::int64_t> cases_of(const Shard& shard, std::int64_t cases);

/// "K/N", K from 1 to N.
Result<Shard> parse_shard(std::string_view text);

}  // namespace kvplan::sweep
