// What one step computes and reads: a piece of a prompt, and all requests that decode, from sums over them. For the
// fast engine.
#pragma once

#include <cstdint>

#include "simulator/core/latency.h"
#include "simulator/core/observer.h"

namespace kvplan::core {

/// Some of a prompt's tokens, behind `computed` of them that are kept.
inline void add_piece(Pass& pass, std::int64_t computed, std::int64_t tokens) {
  pass.load.requests += 1;
  pass.load.tokens += tokens;
  pass.load.context_tokens += computed;
  pass.load.add_pairs(StepLoad::pairs(computed, tokens));
}

constexpr Wide square(std::int64_t tokens) {
  return Wide{tokens} * tokens;
}

/// Of requests that decode, before the step. `requests` counts all of them; the rest is of those without a course, or
/// is taken from courses in every pass.
struct DecodeSums {
  std::int64_t requests{0};
  std::int64_t growing{0};  ///< those whose context grows with every step
  std::int64_t sliding{0};  ///< those that lose a cell with every token
  std::int64_t context{0};  ///< tokens that are kept
  bool squared{false};      ///< are squares wanted: where nothing is kept, and so nobody slides
  Wide squares{0};          ///< of each one's tokens

  /// One more, that does not drop yet.
  void grow(std::int64_t tokens) {
    ++growing;
    context += tokens;
    if (squared) squares += square(tokens);
  }
  /// A growing one begins to drop, at first so many.
  void slide(std::int64_t dropped) {
    ++sliding;
    --growing;
    context -= dropped;
  }
  void leave(std::int64_t tokens, std::int64_t kept, bool slides) {
    --requests;
    --(slides ? sliding : growing);
    context -= kept;
    if (squared) squares -= square(tokens);
  }
  void run(std::int64_t steps) {
    if (squared) squares += 2 * Wide{context} * steps + requests * square(steps);
    context += growing * steps;
  }
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

}  // namespace kvplan::core
