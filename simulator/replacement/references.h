// What is played through a cache: the blocks of prompts, in file order.
#pragma once

#include <span>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/replacement/use.h"
#include "traces/record/trace.h"

namespace kvplan::replacement {

/// Prompt r refers to ids[offsets[r]], ..., ids[offsets[r + 1] - 1]. The trace that it was made from outlives it.
struct References {
  std::span<const Id> ids;
  std::span<const std::uint64_t> offsets;  ///< one more than there are prompts
  std::vector<std::int64_t> times_ns;      ///< by prompt, from the first; never falling
  std::vector<std::uint32_t> categories;   ///< by prompt; empty: all are of category 0
  Id distinct{0};                          ///< ids are below this
  std::uint32_t category_count{1};

  [[nodiscard]] std::size_t prompts() const { return offsets.size() - 1; }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(ids.size()); }
};

/// Prompts in file order. A prompt that arrived before the one in front of it counts as arriving with it. Category: the
/// tenant, where the trace names tenants. Error: the trace has no prefix hashes, or no prompts, or too many ids.
Result<References> references_of(const traces::Trace& trace);

/// Hits of one replay under both ways to count. What the cache holds is the same under both: while the leading
/// blocks of a prompt are found nothing goes.
struct Hits {
  std::int64_t object{0};  ///< references that found their block
  std::int64_t prefix{0};  ///< of them, those before which all of the prompt found theirs
  friend bool operator==(const Hits&, const Hits&) = default;
};

}  // namespace kvplan::replacement
