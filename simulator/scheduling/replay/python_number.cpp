#include "simulator/scheduling/replay/python_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "simulator/base/check.h"

namespace kvplan::replays {

std::string python_number(double number) {
  KVPLAN_CHECK(std::isfinite(number));
  const double size = std::fabs(number);
  const bool exponent = size != 0 && (size < 1e-4 || size >= 1e16);
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                 exponent ? std::chars_format::scientific : std::chars_format::fixed);
  std::string text(buffer.data(), end.ptr);
  if (!exponent && text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace kvplan::replays
