// The length of a request's range in contiguous memory that grows by copy (allocator_growing.cpp): arithmetic and data
// that the allocator and its slow model share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "simulator/memory/allocators.h"
#include "simulator/memory/copy_cost.h"

namespace kvplan::memory {

struct GrowthRule {
  /// `factor` is stored in units of 2^-20.
  static constexpr int kFactorBits = 20;

  std::int64_t slack{0};
  std::int64_t factor{std::int64_t{2} << kFactorBits};
  std::int64_t step{1};
  bool in_place{true};
  bool compacts{false};
  std::int64_t longest{1};  ///< the longest range that the model and the pool allow

  /// Slots granted at an admission that computes `tokens` tokens before it samples.
  [[nodiscard]] std::int64_t at_first(std::int64_t tokens) const { return std::min(tokens + slack, longest); }
  /// The least length to which a range of `slots` grows so that `tokens` tokens have room.
  [[nodiscard]] std::int64_t least(std::int64_t slots, std::int64_t tokens) const {
    return std::min(std::max(tokens, slots + step), longest);
  }
  /// The length to which a range of `slots` grows if there is room.
  [[nodiscard]] std::int64_t wanted(std::int64_t slots, std::int64_t tokens) const {
    const Wide grown = (Wide{slots} * factor + ((std::int64_t{1} << kFactorBits) - 1)) >> kFactorBits;
    return std::max(least(slots, tokens), static_cast<std::int64_t>(std::min<Wide>(grown, longest)));
  }
  /// True: an empty pool of `pool` slots can serve a request with this prompt and this final length. Where
  /// ranges do not grow in place, the last copy must fit beside its source.
  [[nodiscard]] bool fits(std::int64_t prompt, std::int64_t final_tokens, std::int64_t pool) const {
    if (final_tokens > pool) return false;
    return in_place || final_tokens <= at_first(prompt) || 2 * (final_tokens - 1) + step <= pool;
  }
};

/// The data from which the allocator and its model are made.
struct GrowingParts {
  core::MemoryLayout layout;
  GrowthRule rule;
  CopyCost copy;
};

Result<std::unique_ptr<core::Allocator>> make_growing_model(const Choice& choice,
                                                            const AllocatorRequest& request);
Result<GrowingParts> growing_parts(const Choice& choice, const AllocatorRequest& request);

}  // namespace kvplan::memory
