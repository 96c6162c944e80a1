#include "simulator/scenario/plain_decimal.h"

#include <algorithm>
#include <charconv>

#include "simulator/base/component.h"

namespace kvplan::runs {

bool is_plain_decimal(std::string_view text) {
  const auto digits = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }));
  const auto points = static_cast<std::size_t>(std::count(text.begin(), text.end(), '.'));
  return digits > 0 && points <= 1 && digits + points == text.size() && text.front() != '.' &&
         text.back() != '.';
}

bool looks_like_number(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('.')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

std::size_t decimals_of(std::string_view text) {
  const std::size_t point = text.find('.');
  return point == std::string_view::npos ? 0 : text.size() - point - 1;
}

std::optional<std::int64_t> scaled_decimal(std::string_view text, std::size_t decimals) {
  std::string digits;
  for (const char c : text)
    if (c != '.') digits += c;
  digits.append(decimals - decimals_of(text), '0');
  return parse_integer(digits);
}

std::string decimal_text(std::int64_t value, std::size_t decimals) {
  std::string text = std::to_string(value);
  if (decimals == 0) return text;
  if (text.size() <= decimals) text.insert(0, decimals + 1 - text.size(), '0');
  text.insert(text.size() - decimals, 1, '.');
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace kvplan::runs
