// What one step of requests that decode computes and reads, from sums over them: for the fast engine.
#pragma once

#include <cstdint>

#include "simulator/core/latency.h"
#include "simulator/core/observer.h"

namespace kvplan::core {

/// Of requests that decode, before the step.
struct DecodeSums {
  std::int64_t requests{0};
  std::int64_t growing{0};  ///< those whose context grows with every step
  std::int64_t context{0};  ///< tokens that are kept
  Wide squares{0};          ///< of each one's tokens; only where nothing is kept
};

/// Each computes one token and reads what is kept of those before.
inline void add_decoding(Pass& pass, const DecodeSums& sums) {
  pass.load.requests += sums.requests;
  pass.load.tokens += sums.requests;
  pass.load.context_tokens += sums.context;
  pass.load.add_pairs(Wide{sums.context} + sums.requests);
  pass.growth = LoadGrowth::of_contexts(sums.growing);
}

/// Nothing is kept: who had n tokens computes n + 1 and reads none; (n + 1)(n + 2) / 2 pairs, n + 2 more the next time.
inline void add_recomputing(Pass& pass, const DecodeSums& sums) {
  pass.load.requests += sums.requests;
  pass.load.tokens += sums.context + sums.requests;
  pass.load.add_pairs((sums.squares + 3 * Wide{sums.context}) / 2 + sums.requests);
  pass.growth = {.tokens = sums.requests,
                 .attention_pairs = sums.context + 2 * sums.requests,
                 .pairs_growth = sums.requests};
}

constexpr Wide square(std::int64_t tokens) {
  return Wide{tokens} * tokens;
}

}  // namespace kvplan::core
