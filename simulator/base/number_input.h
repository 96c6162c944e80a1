// Numbers that a user wrote, on a command line or in a file, with uniform error messages. Nothing is clamped or
// guessed: an empty text, a number that does not fit, NaN, infinity, hexadecimal digits, a leading plus sign, spaces
// and anything after the number are errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan {

/// A text as error messages quote it: in quotes; of a long text the first 40 bytes and its length.
std::string found_text(std::string_view text);

/// `expected WHAT, found "TEXT"`, or `found nothing` if the text is empty.
Error not_expected(std::string_view what, std::string_view text);

/// Both ends are included.
struct WholeRange {
  std::int64_t low{0}, high{INT64_MAX};
};
/// "a whole number from 1 to 8".
std::string expected_text(WholeRange range);
Result<std::int64_t> read_whole_number(std::string_view text, WholeRange range);

struct NumberRange {
  double low{0}, high{0};
};
/// "a number from 0.5 to 2".
std::string expected_text(NumberRange range);
Result<double> read_number(std::string_view text, NumberRange range);

}  // namespace kvplan
