// Evicts the least frequently or least recently used tokens: a resident counts as used when a query gives it at least a
// given share of its attention.
#pragma once

#include <array>

#include "simulator/attention/policy.h"

namespace kvplan::attention {

inline constexpr std::array<std::string_view, 2> kAccessModes{"lfu", "lru"};

constexpr std::array<Param, 6> access_params(std::string_view mode) {
  return {tokens_param("budget", "Tokens kept, including the newest", 1),
          Param{.name = "theta",
                .help = "A query counts as using a token if its attention weight is at least this",
                .kind = ParamKind::kDecimal,
                .fallback = "0.01",
                .low = 0,
                .high = 1},
          Param{.name = "mode",
                .help = "Which token is evicted: the one used least often (lfu) or used longest ago (lru)",
                .kind = ParamKind::kText,
                .fallback = mode,
                .choices = kAccessModes},
          kGroupParam,
          kAggParam,
          kPlacementParam};
}

PolicyTraits access_traits(const Choice& choice);
std::unique_ptr<LayerPolicy> make_access_policy(const LayerInput& input);

}  // namespace kvplan::attention
