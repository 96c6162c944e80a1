// Shares in exact decimal arithmetic: 0.8 is 8/10, not the binary number next to it. Otherwise 0.2 of 80 would be
// 15.999999999999996, cut off to 15.
#pragma once

#include <cstdint>
#include <string_view>

#include "simulator/base/component.h"
#include "simulator/base/units.h"

namespace kvplan::formats {

class Share {
 public:
  /// REQUIRES: a decimal number from 0 to 1. Only its first 18 decimals are used.
  explicit Share(std::string_view text);
  /// The value of a parameter that is such a number.
  Share(const Choice& choice, std::string_view param) : Share(choice.text(param)) {}

  // floor(share x n), n >= 0, computed exactly.
  [[nodiscard]] std::int64_t floor_of(std::int64_t n) const { return cut(parts_, n, kWhole); }
  [[nodiscard]] std::int64_t ceil_of(std::int64_t n) const { return n - rest_of(n); }
  /// floor(share / 2 x n).
  [[nodiscard]] std::int64_t half_of(std::int64_t n) const { return cut(parts_, n, 2 * kWhole); }
  /// floor((1 - share) x n).
  [[nodiscard]] std::int64_t rest_of(std::int64_t n) const { return cut(kWhole - parts_, n, kWhole); }

  [[nodiscard]] bool none() const { return parts_ == 0; }

 private:
  static constexpr std::int64_t kWhole = 1'000'000'000'000'000'000;
  static std::int64_t cut(std::int64_t parts, std::int64_t n, std::int64_t whole) {
    return static_cast<std::int64_t>(Wide{parts} * n / whole);
  }

  std::int64_t parts_{0};  ///< numerator over kWhole
};

}  // namespace kvplan::formats
