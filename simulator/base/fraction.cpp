#include "simulator/base/fraction.h"

#include <numeric>
#include <string>

#include "simulator/base/component.h"
#include "simulator/base/number_input.h"

namespace kvplan {

Result<Fraction> parse_fraction(std::string_view text) {
  const auto wrong = [&] {
    return not_expected("a positive number such as 2, 0.5 or 3/4, as a fraction of two numbers below 2^31",
                        text);
  };
  Fraction fraction;
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto p = parse_integer(text.substr(0, slash));
    const auto q = parse_integer(text.substr(slash + 1));
    if (!p || !q) return wrong();
    fraction = {*p, *q};
  } else {
    if (!parse_decimal(text)) return wrong();
    // A decimal is digits over a power of ten.
    const std::size_t e = text.find_first_of("eE");
    std::string_view tail = e == std::string_view::npos ? std::string_view("0") : text.substr(e + 1);
    if (!tail.empty() && tail.front() == '+') tail.remove_prefix(1);
    auto exponent = parse_integer(tail).value_or(99);
    std::int64_t digits = 0;
    bool after_point = false;
    for (const char c : text.substr(0, e)) {
      if (c == '.') {
        after_point = true;
        continue;
      }
      if (c < '0' || c > '9' || digits > INT64_MAX / 10 - 9) return wrong();
      digits = digits * 10 + (c - '0');
      if (after_point) --exponent;
    }
    if (exponent > 12 || exponent < -18) return wrong();
    fraction.numerator = digits;
    for (; exponent > 0; --exponent) {
      if (fraction.numerator > INT64_MAX / 10) return wrong();
      fraction.numerator *= 10;
    }
    for (; exponent < 0; ++exponent) fraction.denominator *= 10;
  }
  if (fraction.numerator <= 0 || fraction.denominator <= 0) return wrong();
  const std::int64_t common = std::gcd(fraction.numerator, fraction.denominator);
  fraction.numerator /= common;
  fraction.denominator /= common;
  if (fraction.numerator > INT32_MAX || fraction.denominator > INT32_MAX) return wrong();
  return fraction;
}

}  // namespace kvplan
