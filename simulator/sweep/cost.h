// What a case will cost, about: CPU time from the scenario and the length of its trace alone, without running it. Only
// for dealing cases out to shards (deal.h): it decides who runs a case, never what comes of it. Whole numbers, so that
// every machine deals alike.
//
//   cost = fixed + requests x (per request) + tokens x (per token) + output tokens x (per output token),
//
// tokens being prompts and outputs together.
//
// Each figure is a sum over what the scenario has (the table in cost.cpp): whoever holds memory block by block pays for
// blocks, tokens / block_tokens; whoever jumps over alike steps does not, so steps are no part of it. What cannot be
// known beforehand is not in it: preemptions, hits of prefixes, how long a batch is. README.md says how well it fits.
#pragma once

#include <compare>
#include <cstdint>

#include "simulator/scenario/scenario.h"
#include "traces/record/trace.h"

namespace kvplan::sweep {

/// Changes whenever the same cases would be dealt out otherwise: shards of one sweep are dealt by one rule.
inline constexpr const char* kDealingRule = "least loaded by cost 2";

/// The part of a cost that the scenario decides.
struct CostTerms {
  std::int64_t fixed_ns{0}, request_ns{0};
  std::int64_t token_ps{0};         ///< picoseconds
  std::int64_t output_token_ps{0};  ///< more, of output tokens alone
  std::int64_t hashed_token_ps{0};  ///< more, where the trace says which prompts begin alike
  std::int64_t limit{-1};           ///< of the requests; negative: all
  auto operator<=>(const CostTerms&) const = default;
};
CostTerms cost_terms(const plan::Scenario& scenario);

/// In microseconds, at least 1; at most kMostCost, so that no sum over a sweep overflows.
inline constexpr std::int64_t kMostCost = 900'000'000'000;
std::int64_t estimated_cost_us(const CostTerms& terms, const traces::Trace& trace);

}  // namespace kvplan::sweep
