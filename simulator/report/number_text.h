// Numbers as text; the same in the terminal, in HTML and on charts. The decimal point is a point and groups are
// separated by commas, whatever the locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simulator/base/fraction.h"

namespace kvplan::report {

/// Printed in place of a missing number.
inline constexpr const char* kNoNumber = "-";
/// The text of a number, or kNoNumber.
std::string or_none(const std::optional<double>& value, std::string (*text)(double));
/// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);
/// A limit with its parameter's name: "max_seqs (256)".
std::string limit_text(std::string_view param, std::int64_t value);
/// A number with this many digits after the point, the part before it grouped.
std::string fixed(double number, int decimals);
/// Three significant digits; digits before the point are never dropped: 0.0123, 1.23, 45.6, 1,235.
std::string rounded(double number);
/// 0.1234 as "12.34 %"; a value that would round to 0.00 and is not zero is "<0.01 %".
std::string percent(double fraction);
/// 99/100 as "99 %", 199/200 as "99.5 %": at most two digits after the point, without trailing zeros.
std::string fraction_text(const Fraction& fraction);
/// Bytes in B, KiB, MiB, GiB or TiB: "48.0 GiB".
std::string bytes_text(double bytes);
/// With the interval in the same unit: "58.1 GiB (57.8 to 58.4)"; without it where its ends are equal.
std::string interval_text(std::int64_t bytes, std::int64_t low, std::int64_t high);
/// In µs, ms or s: "12.3 ms", "3,501 s". Zero is "0 s".
std::string seconds_text(double seconds);
/// Characters (not bytes) of a UTF-8 text.
std::size_t characters(std::string_view text);
/// One argument of a command line, quoted for a POSIX shell where that is needed.
std::string shell_quoted(std::string_view argument);
/// A field of a CSV in quotes, with its own quotes doubled.
std::string csv_quoted(std::string_view field);

}  // namespace kvplan::report
