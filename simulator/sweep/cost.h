// An estimate of what a case will cost: CPU time from the scenario and the length of its trace alone, without running
// it.
// Only used to deal cases to shards (deal.h): it decides which shard runs a case, never its result. Whole numbers, so
// that every machine deals the same.
//
//   cost = fixed + requests x (per request) + tokens x (per token) + output tokens x (per output token),
//
// where tokens are prompts and outputs together.
//
// Each coefficient is a sum over the components of the scenario (the table in cost.cpp). Members that hold memory block
// by block pay for blocks, tokens / block_tokens. Engines skip over equal steps, so the number of steps does not count.
// What cannot be known beforehand is missing: preemptions, prefix hits, batch sizes. README.md says how well it fits.
#pragma once

#include <compare>
#include <cstdint>

#include "simulator/scenario/scenario.h"
#include "traces/record/trace.h"

namespace kvplan::sweep {

/// Changes whenever the same cases would be dealt differently: the shards of one sweep must use one rule.
inline constexpr const char* kDealingRule = "least loaded by cost 2";

/// The part of a cost that depends on the scenario.
struct CostTerms {
  std::int64_t fixed_ns{0}, request_ns{0};
  std::int64_t token_ps{0};         ///< picoseconds
  std::int64_t output_token_ps{0};  ///< additional, for output tokens only
  std::int64_t hashed_token_ps{0};  ///< additional, if the trace has prefix hashes
  std::int64_t limit{-1};           ///< number of requests used; negative: all
  auto operator<=>(const CostTerms&) const = default;
};
CostTerms cost_terms(const plan::Scenario& scenario);

/// In microseconds, between 1 and kMostCost, so that no sum over a sweep overflows.
inline constexpr std::int64_t kMostCost = 900'000'000'000;
std::int64_t estimated_cost_us(const CostTerms& terms, const traces::Trace& trace);

}  // namespace kvplan::sweep
