#include "simulator/formats/shares.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::formats {

Share::Share(std::string_view text) {
  const auto value = parse_decimal(text);
  KVPLAN_CHECK(value && *value >= 0 && *value <= 1);
  if (text.front() == '-') return;  // only a zero can have a sign
  const std::size_t e = text.find_first_of("eE");
  // Power of ten of the next digit; 18 stands for ones.
  std::int64_t power = 18;
  if (e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.front() == '+') exponent.remove_prefix(1);
    // An exponent too large to parse belongs to a zero, or to a number too small to matter.
    const auto parsed = parse_integer(exponent);
    if (!parsed || *parsed < -1000 || *parsed > 1000) return;
    power += *parsed;
  }
  const std::string_view digits = text.substr(0, e);
  power += static_cast<std::int64_t>(std::min(digits.find('.'), digits.size())) - 1;
  for (const char c : digits) {
    if (c == '.') continue;
    const std::int64_t digit = c - '0';
    if (digit > 0 && power >= 0) {
      std::int64_t part = digit;
      for (std::int64_t i = 0; i < power; ++i) part *= 10;
      parts_ += part;
    }
    --power;
  }
  parts_ = std::min(parts_, kWhole);  // the text may be slightly above 1, though a double rounds it to 1
}

}  // namespace kvplan::formats
