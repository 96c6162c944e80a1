// Numbers of kept tokens that go up and down, computed from lengths (PolicyTraits::count_at).
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/attention/policy.h"

namespace kvplan::attention {

/// A token is added with every step until there would be more than `most`; then kept_of(most + 1) tokens are kept, and
/// so on. kept_of(prompt) tokens of the prompt are kept. REQUIRES: 1 <= kept_of(n) <= most for all n >= 1, and
/// kept_of(n) <= n.
template <class KeptOf>
core::KeptCount count_in_rounds(std::int64_t prompt, std::int64_t tokens, std::int64_t most,
                                const KeptOf& kept_of) {
  const std::int64_t first = kept_of(prompt);
  if (tokens - prompt <= most - first) return {.budget = first + tokens - prompt};
  const std::int64_t least = kept_of(most + 1);
  const std::int64_t since = tokens - prompt - (most - first) - 1;
  return {.budget = least + since % (most - least + 1)};
}

/// Tokens are added until the next selection, which keeps only the budget. Selections happen when the prompt ends, and
/// after every `every` tokens. From a choice with parameters `budget` and `every`, at least 1.
inline core::KeptCount count_between_selections(const Choice& choice, std::int64_t prompt,
                                                std::int64_t tokens) {
  const std::int64_t since = (tokens - prompt) % choice.integer("every");
  return {.budget = std::min(tokens - since, choice.integer("budget")) + since};
}

}  // namespace kvplan::attention
