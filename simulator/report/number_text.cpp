#include "simulator/report/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace kvplan::report {
namespace {

/// Puts commas into the digits before the point.
std::string with_groups(std::string text) {
  const std::size_t start = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t at = point; at > start + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

struct ByteUnit {
  double bytes{1};
  const char* name;
};

/// The largest unit of which there is at least one.
ByteUnit unit_of(double bytes) {
  static constexpr std::array<const char*, 5> kNames{" B", " KiB", " MiB", " GiB", " TiB"};
  ByteUnit out{1, kNames[0]};
  for (std::size_t i = 1; i < kNames.size() && bytes >= 1024 * out.bytes; ++i)
    out = {1024 * out.bytes, kNames.at(i)};
  return out;
}

}  // namespace

std::string or_none(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : kNoNumber;
}

std::string grouped(std::int64_t number) {
  return with_groups(std::to_string(number));
}

std::string limit_text(std::string_view param, std::int64_t value) {
  return std::string(param) + " (" + grouped(value) + ")";
}

std::string fixed(double number, int decimals) {
  std::array<char, 400> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.*f", decimals, number);
  return with_groups(std::string(text.data(), static_cast<std::size_t>(size)));
}

std::string rounded(double number) {
  const double size = std::fabs(number);
  if (size == 0) return "0";
  if (size < 1e-6) return "<0.000001";
  // The digits follow the rounded value, so that 9.996 is 10.0 and not 10.00.
  int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, 8);
  const double scale = std::pow(10.0, decimals);
  if (decimals > 0 && std::round(size * scale) / scale >= std::pow(10.0, 3 - decimals)) --decimals;
  return fixed(number, decimals);
}

std::string percent(double fraction) {
  if (fraction > 0 && fraction < 0.00005) return "<0.01 %";
  return fixed(fraction * 100, 2) + " %";
}

std::string fraction_text(const Fraction& fraction) {
  const std::int64_t percents = 100 * fraction.numerator;  // both parts are below 2^31
  int decimals = 0;
  for (std::int64_t scale = 1; decimals < 2 && percents * scale % fraction.denominator != 0; scale *= 10)
    ++decimals;
  return fixed(static_cast<double>(percents) / static_cast<double>(fraction.denominator), decimals) + " %";
}

std::string bytes_text(double bytes) {
  const ByteUnit unit = unit_of(bytes);
  return (unit.bytes == 1 ? fixed(bytes, 0) : rounded(bytes / unit.bytes)) + unit.name;
}

std::string interval_text(std::int64_t bytes, std::int64_t low, std::int64_t high) {
  const auto value = static_cast<double>(bytes);
  std::string text = bytes_text(value);
  if (low == high) return text;
  const ByteUnit unit = unit_of(value);
  const std::string number = rounded(value / unit.bytes);
  const std::size_t point = number.find('.');
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(number.size() - point - 1);
  text += " (" + fixed(static_cast<double>(low) / unit.bytes, decimals);
  return text + " to " + fixed(static_cast<double>(high) / unit.bytes, decimals) + ")";
}

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  const double size = std::fabs(seconds);
  if (size < 0.9995e-3) return rounded(seconds * 1e6) + " µs";
  if (size < 0.9995) return rounded(seconds * 1e3) + " ms";
  return rounded(seconds) + " s";
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string shell_quoted(std::string_view argument) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,%+@";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(argument);
  std::string out = "'";
  for (const char c : argument) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string csv_quoted(std::string_view field) {
  std::string out = "\"";
  for (const char c : field) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

}  // namespace kvplan::report
