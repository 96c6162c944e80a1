// What one step computes and reads: a piece of a prompt, and all requests that decode, from sums over them. For the
// fast engine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/core/engine.h"
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

/// What attention reads of a request that slides: of `held` tokens, before or after the drop that follows the last of
/// them.
struct SlidingReads {
  KeepRule keep;
  bool holes{false};                  ///< dropped tokens are read until their allocation unit comes back
  std::int64_t alloc_unit_tokens{0};  ///< 0: nothing comes back before the end

  [[nodiscard]] std::int64_t after_drop(std::int64_t held) const { return read(held, held - keep.recent); }
  [[nodiscard]] std::int64_t before_drop(std::int64_t held) const {
    return read(held, held - keep.recent - 1);
  }

 private:
  /// When the cells [sink, begin) are dropped.
  [[nodiscard]] std::int64_t read(std::int64_t held, std::int64_t begin) const {
    if (!holes) return keep.sink + keep.recent;
    if (alloc_unit_tokens == 0) return held;
    const std::int64_t alloc_units = begin / alloc_unit_tokens - ceil_div(keep.sink, alloc_unit_tokens);
    return held - std::max<std::int64_t>(alloc_units, 0) * alloc_unit_tokens;
  }
};

/// Of requests that decode, before the step. `requests` counts all of them; the rest is of those without a course, or
/// is taken from courses in every pass.
struct DecodeSums {
  std::int64_t requests{0};
  std::int64_t growing{0};  ///< those whose context grows with every step
  std::int64_t sliding{0};  ///< those that lose a cell with every token
  std::int64_t context{0};  ///< tokens that are read
  SlidingReads reads{};     ///< with holes who slides grows too
  bool squared{false};      ///< are squares wanted: where nothing is kept, and so nobody slides
  Wide squares{0};          ///< of each one's tokens

  /// One more, that does not drop yet.
  void grow(std::int64_t tokens) {
    ++growing;
    context += tokens;
    if (squared) squares += square(tokens);
  }
  /// A growing one that holds so many begins to drop.
  void slide(std::int64_t held) {
    ++sliding;
    if (!reads.holes) --growing;
    context -= held - reads.after_drop(held);
  }
  /// One that slides and holds so many dropped one more, which completed an allocation unit.
  void free_unit(std::int64_t held) {
    if (reads.holes) context -= reads.before_drop(held) - reads.after_drop(held);
  }
  /// `ends`: nothing was dropped after its last token.
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

/// Each computes one token and reads what is there of those before.
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
