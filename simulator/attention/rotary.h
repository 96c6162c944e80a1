// How queries and keys were rotated by their positions (rotary position embedding), so that it can be undone. Source:
// arXiv 2104.09864; layouts and scalings as in Hugging Face Transformers (modeling_rope_utils.py).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvplan::attention {

enum class RotaryLayout : std::uint8_t {
  kHalves = 1,       ///< element j rotates with element j + dims / 2
  kInterleaved = 2,  ///< element 2 j rotates with element 2 j + 1
};

/// Pair j of a head at position p was multiplied by `amplitude` and rotated by the angle p * frequency(j).
struct Rotary {
  RotaryLayout layout{RotaryLayout::kHalves};
  std::int32_t first{0};                    ///< the first rotated element
  std::int32_t dims{0};                     ///< number of rotated elements, even; 0 = none
  double base{10000};                       ///< frequency of pair j: base^(-2 j / dims) / linear_factor
  double linear_factor{1};                  ///< divides positions
  std::vector<double> inverse_frequencies;  ///< dims / 2 values, instead of base and factor; or empty
  double amplitude{1};

  /// The frequency of pair j.
  [[nodiscard]] double frequency(std::int32_t pair) const;
  /// The two elements of pair j.
  [[nodiscard]] std::int32_t low(std::int32_t pair) const {
    return first + (layout == RotaryLayout::kHalves ? pair : 2 * pair);
  }
  [[nodiscard]] std::int32_t high(std::int32_t pair) const {
    return low(pair) + (layout == RotaryLayout::kHalves ? dims / 2 : 1);
  }

  bool operator==(const Rotary&) const = default;
};

/// Undoes the rotation for `position` on the elements of one head of one token.
void unrotate(const Rotary& rotary, std::int64_t position, std::span<double> head);

}  // namespace kvplan::attention
