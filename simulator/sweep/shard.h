// A shard: the K-th of N shares of the cases (deal.h defines which cases).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::sweep {

struct Shard {
  std::int64_t index{1};  ///< K, from 1 to count
  std::int64_t count{1};  ///< N
  bool operator==(const Shard&) const = default;
  [[nodiscard]] std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }
};

/// "K/N", K from 1 to N.
Result<Shard> parse_shard(std::string_view text);

}  // namespace kvplan::sweep
