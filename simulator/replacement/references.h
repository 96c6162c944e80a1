// The references that are replayed through a cache: the blocks of prompts, in file order.
#pragma once

#include <span>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/replacement/use.h"
#include "traces/record/trace.h"

namespace kvplan::replacement {

/// Prompt r refers to ids[offsets[r]], ..., ids[offsets[r + 1] - 1]. The trace outlives this.
struct References {
  std::span<const Id> ids;
  std::span<const std::uint64_t> offsets;  ///< one entry more than there are prompts
  std::vector<std::int64_t> times_ns;      ///< by prompt, since the first; ascending
  std::vector<std::uint32_t> categories;   ///< by prompt; empty: all have category 0
  Id distinct{0};                          ///< ids are below this
  std::uint32_t category_count{1};

  [[nodiscard]] std::size_t prompts() const { return offsets.size() - 1; }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(ids.size()); }
};

/// References of a trace, prompts in file order. A prompt that arrived before the prompt before it in the file counts
/// as arriving with that one. Category: the tenant, if the trace names tenants. Errors: the trace has no prefix hashes,
/// or no prompts, or too many ids.
Result<References> references_of(const traces::Trace& trace);

/// Hits of one replay, counted in two ways. The cache content is the same for both: while the leading blocks of a
/// prompt are hits, nothing is evicted.
struct Hits {
  std::int64_t object{0};  ///< references with a cached block
  std::int64_t prefix{0};  ///< of those, references with hits for all earlier blocks of their prompt too
  friend bool operator==(const Hits&, const Hits&) = default;
};

}  // namespace kvplan::replacement
