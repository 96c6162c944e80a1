// A share of the cases: the K-th of every N, so that what neighbours cost is dealt out evenly.
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
  [[nodiscard]] bool has(std::int64_t number) const { return number % count == index - 1; }
  /// How many of so many cases.
  [[nodiscard]] std::int64_t share_of(std::int64_t cases) const { return (cases - index + count) / count; }
  [[nodiscard]] std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }
};

/// "K/N", K from 1 to N.
Result<Shard> parse_shard(std::string_view text);

}  // namespace kvplan::sweep
