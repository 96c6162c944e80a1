// What one step computes and reads, for the fast engine: pieces of prompts are added one by one; all decoding requests
// are added at once, from sums.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/core/engine.h"
#include "simulator/core/latency.h"
#include "simulator/core/observer.h"

namespace kvplan::core {

/// Adds a piece of a prompt: `tokens` tokens that follow `computed` cached ones.
inline void add_piece(Pass& pass, std::int64_t computed, std::int64_t tokens) {
  pass.load.requests += 1;
  pass.load.tokens += tokens;
  pass.load.context_tokens += computed;
  pass.load.add_pairs(StepLoad::pairs(computed, tokens));
}

constexpr Wide square(std::int64_t tokens) {
  return Wide{tokens} * tokens;
}

/// The tokens that attention reads of a sliding request (one that drops a cell for each new token). `held`: the
/// request's tokens, before or after the drop that follows the last of them.
struct SlidingReads {
  KeepRule keep;
  bool holes{false};                  ///< dropped tokens are read until their allocation unit is freed
  std::int64_t alloc_unit_tokens{0};  ///< 0: no allocation unit is freed before the request ends

  [[nodiscard]] std::int64_t after_drop(std::int64_t held) const { return read(held, held - keep.recent); }
  [[nodiscard]] std::int64_t before_drop(std::int64_t held) const {
    return read(held, held - keep.recent - 1);
  }

 private:
  /// Tokens read when the cells [sink, begin) are dropped.
  [[nodiscard]] std::int64_t read(std::int64_t held, std::int64_t begin) const {
    if (!holes) return keep.sink + keep.recent;
    if (alloc_unit_tokens == 0) return held;
    const std::int64_t alloc_units = begin / alloc_unit_tokens - ceil_div(keep.sink, alloc_unit_tokens);
    return held - std::max<std::int64_t>(alloc_units, 0) * alloc_unit_tokens;
  }
};

/// Sums over decoding requests, before the step. `requests` counts all of them. The other sums cover only requests
/// without a course; for requests with one, the course gives the numbers in every step.
struct DecodeSums {
  std::int64_t requests{0};
  std::int64_t growing{0};  ///< requests with a context that grows with every step
  std::int64_t sliding{0};  ///< requests that drop a cell with every token
  std::int64_t context{0};  ///< tokens that are read
  SlidingReads reads{};     ///< if holes are read, contexts of sliding requests grow too
  bool squared{false};      ///< maintain `squares`: if no KV is kept, and so no request slides
  Wide squares{0};          ///< sum of the squares of the requests' tokens

  /// Adds a request that does not drop cells yet.
  void grow(std::int64_t tokens) {
    ++growing;
    context += tokens;
    if (squared) squares += square(tokens);
  }
  /// A growing request with `held` tokens begins to drop cells.
  void slide(std::int64_t held) {
    ++sliding;
    if (!reads.holes) --growing;
    context -= held - reads.after_drop(held);
  }
  /// A sliding request with `held` tokens dropped one more cell, which completed an allocation unit.
  void free_unit(std::int64_t held) {
    if (reads.holes) context -= reads.before_drop(held) - reads.after_drop(held);
  }
  /// Removes a request. `ends`: it has ended, so nothing was dropped after its last token.
  void leave(std::int64_t tokens, bool slides, bool ends) {
    const std::int64_t read = !slides ? tokens : ends ? reads.before_drop(tokens) : reads.after_drop(tokens);
    --requests;
    if (slides) --sliding;
    if (!slides || reads.holes) --growing;
    context -= read;
    if (squared) squares -= square(tokens);
  }
  void run(std::int64_t steps) {
    if (squared) squares += 2 * Wide{context} * steps + requests * square(steps);
    context += growing * steps;
  }
};

/// Each decoding request computes one token and reads its stored tokens.
inline void add_decoding(Pass& pass, const DecodeSums& sums) {
  pass.load.requests += sums.requests;
  pass.load.tokens += sums.requests;
  pass.load.context_tokens += sums.context;
  pass.load.add_pairs(Wide{sums.context} + sums.requests);
  pass.growth = LoadGrowth::of_contexts(sums.growing);
}

/// No KV is kept: a request with n tokens computes n + 1 tokens and reads none. That is (n + 1)(n + 2) / 2 pairs, and n
/// + 2 pairs more in the next step.
inline void add_recomputing(Pass& pass, const DecodeSums& sums) {
  pass.load.requests += sums.requests;
  pass.load.tokens += sums.context + sums.requests;
  pass.load.add_pairs((sums.squares + 3 * Wide{sums.context}) / 2 + sums.requests);
  pass.growth = {.tokens = sums.requests,
                 .attention_pairs = sums.context + 2 * sums.requests,
                 .pairs_growth = sums.requests};
}

}  // namespace kvplan::core
