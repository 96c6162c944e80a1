// Numbers written as digits with at most one point, stored exactly in units of 10^-decimals. So ranges of them have
// neither rounding errors nor limits of floating point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvplan::runs {

/// True: only digits, with at most one point between them.
bool is_plain_decimal(std::string_view text);
/// True for numbers in any notation, also with a sign or an exponent, "nan" and "inf": the text is meant as a number.
bool looks_like_number(std::string_view text);
/// Digits behind the point. REQUIRES: is_plain_decimal(text).
std::size_t decimals_of(std::string_view text);
/// The number in units of 10^-decimals; nothing if that does not fit 63 bits. REQUIRES: is_plain_decimal(text), with
/// at most `decimals` decimals.
std::optional<std::int64_t> scaled_decimal(std::string_view text, std::size_t decimals);
/// `value` in units of 10^-decimals, without trailing zeros behind the point. REQUIRES: value >= 0.
std::string decimal_text(std::int64_t value, std::size_t decimals);

}  // namespace kvplan::runs
