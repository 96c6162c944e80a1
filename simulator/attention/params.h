// Parameters that policies and budgets both have.
#pragma once

#include <string_view>

#include "simulator/base/component.h"

namespace kvplan::attention {

inline constexpr double kMaxTokens = 1 << 30;

/// A share from 0 to 1.
constexpr Param share_param(std::string_view name, std::string_view help, std::string_view fallback) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = fallback,
          .low = 0,
          .high = 1};
}
/// A whole number of tokens from `low` up; without a default, it has to be given.
constexpr Param tokens_param(std::string_view name, std::string_view help, double low,
                             std::string_view fallback = {}) {
  return {.name = name,
          .help = help,
          .unit = Unit::kTokens,
          .fallback = fallback,
          .low = low,
          .high = kMaxTokens};
}

}  // namespace kvplan::attention
