#include "traces/import/fields.h"

#include <array>
#include <cstring>

#include "simulator/base/units.h"
#include "traces/import/digits.h"

namespace kvplan::traces {
namespace {

constexpr std::int64_t kNsPerDay = 86'400 * kNsPerSecond;
/// The first of the years in which all nanoseconds since 1970 fit into 63 bits.
constexpr int kFirstYear = 1678;
constexpr int kLastYear = 2261;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar (years counted from March, so that the leap day
/// is the last of its year; 400-year cycles have 146,097 days).
std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t month_from_march = (month + 9) % 12;
  const std::int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
  return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719'468;
}

bool is_date(std::int64_t year, std::int64_t month, std::int64_t day) {
  constexpr std::array<std::int64_t, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1) return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

/// The number of the two digits at `at`, or -1.
int two(const char* at) {
  return is_digit(at[0]) && is_digit(at[1]) ? (at[0] - '0') * 10 + (at[1] - '0') : -1;
}

/// Seconds east of UTC for a zone's text; nullopt if the text is not a zone. Empty and Z mean UTC.
std::optional<std::int64_t> parse_zone(std::string_view zone) {
  if (zone.empty() || zone == "Z" || zone == "z") return 0;
  if (zone == " UTC") return 0;
  if (zone[0] != '+' && zone[0] != '-') return std::nullopt;
  const std::int64_t sign = zone[0] == '+' ? 1 : -1;
  zone.remove_prefix(1);
  if (zone.size() != 2 && zone.size() != 4 && !(zone.size() == 5 && zone[2] == ':')) return std::nullopt;
  const int hours = two(zone.data());
  const int minutes = zone.size() == 2 ? 0 : two(zone.data() + zone.size() - 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return sign * (hours * 3600 + minutes * 60);
}

}  // namespace

std::string_view time_unit_name(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kIso:
      return "iso";
    case TimeUnit::kSeconds:
      return "s";
    case TimeUnit::kMillis:
      return "ms";
    case TimeUnit::kMicros:
      return "us";
    case TimeUnit::kNanos:
      return "ns";
  }
  return "?";
}

std::optional<TimeUnit> time_unit_from(std::string_view name) {
  for (const TimeUnit unit :
       {TimeUnit::kIso, TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros, TimeUnit::kNanos})
    if (time_unit_name(unit) == name) return unit;
  return std::nullopt;
}

int exponent_of(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return 9;
    case TimeUnit::kMillis:
      return 6;
    case TimeUnit::kMicros:
      return 3;
    case TimeUnit::kNanos:
    case TimeUnit::kIso:
      return 0;
  }
  return 0;
}

std::optional<std::int64_t> parse_time_number(std::string_view text, TimeUnit unit) {
  // value = digits x 10^scale; the digits that matter fit 64 bits, later ones only decide the rounding.
  std::uint64_t digits = 0;
  std::int64_t scale = exponent_of(unit);
  bool any = false;
  bool fraction = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!is_digit(c)) break;
    any = true;
    if (digits < 1'000'000'000'000'000'000ULL) {
      digits = digits * 10 + static_cast<std::uint64_t>(c - '0');
      if (fraction) --scale;
    } else if (!fraction) {
      return std::nullopt;
    }
  }
  if (!any) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    ++i;
    const bool minus = i < text.size() && text[i] == '-';
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (i == text.size() || text.size() - i > 3) return std::nullopt;
    std::int64_t exponent = 0;
    for (; i < text.size(); ++i) {
      if (!is_digit(text[i])) return std::nullopt;
      exponent = exponent * 10 + (text[i] - '0');
    }
    scale += minus ? -exponent : exponent;
  }
  for (; scale > 0 && digits != 0; --scale) {
    if (digits > INT64_MAX / 10) return std::nullopt;
    digits *= 10;
  }
  bool half = false;
  for (; scale < 0 && (digits != 0 || half); ++scale) {
    half = digits % 10 >= 5;
    digits /= 10;
  }
  digits += half ? 1 : 0;
  if (digits > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(digits);
}

std::optional<std::int32_t> parse_long_count(std::string_view text) {
  std::uint64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    value = value * 10 + static_cast<std::uint64_t>(text[i] - '0');
    if (value > INT32_MAX) return std::nullopt;
  }
  if (i == 0) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != '.' || i + 1 == text.size()) return std::nullopt;
    for (++i; i < text.size(); ++i)
      if (text[i] != '0') return std::nullopt;
  }
  return static_cast<std::int32_t>(value);
}

std::optional<std::uint64_t> parse_id(std::string_view text) {
  if (text.empty() || text.size() > 20) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    std::uint64_t next = 0;
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &next) ||
        __builtin_add_overflow(next, static_cast<std::uint64_t>(c - '0'), &value))
      return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> IsoTimeParser::parse(std::string_view text) {
  if (text.size() < 19) return std::nullopt;
  const char* at = text.data();
  if (!have_date_ || std::memcmp(at, date_, sizeof date_) != 0) {
    const int century = two(at);
    const int year_in_century = two(at + 2);
    const int month = two(at + 5);
    const int day = two(at + 8);
    if (century < 0 || year_in_century < 0 || at[4] != '-' || at[7] != '-') return std::nullopt;
    const std::int64_t year = century * 100 + year_in_century;
    if (year < kFirstYear || year > kLastYear || !is_date(year, month, day)) return std::nullopt;
    days_ = days_since_1970(year, month, day);
    std::memcpy(date_, at, sizeof date_);
    have_date_ = true;
  }
  const int hour = two(at + 11);
  const int minute = two(at + 14);
  const int second = two(at + 17);
  if ((at[10] != ' ' && at[10] != 'T' && at[10] != 't') || at[13] != ':' || at[16] != ':')
    return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
  std::int64_t ns = ((hour * 60 + minute) * 60 + second) * kNsPerSecond;
  std::size_t i = 19;
  if (i < text.size() && (text[i] == '.' || text[i] == ',')) {
    const std::size_t start = ++i;
    std::int64_t fraction = 0;
    for (; i < text.size() && is_digit(text[i]) && i - start < 9; ++i)
      fraction = fraction * 10 + (text[i] - '0');
    if (i == start) return std::nullopt;
    for (std::size_t digits = i - start; digits < 9; ++digits) fraction *= 10;
    ns += fraction;
  }
  const std::optional<std::int64_t> zone = parse_zone(text.substr(i));
  if (!zone) return std::nullopt;
  return days_ * kNsPerDay + ns - *zone * kNsPerSecond;
}

bool IsoTimeParser::is_out_of_range(std::string_view text) {
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') return false;
  const int century = two(text.data());
  const int year_in_century = two(text.data() + 2);
  if (century < 0 || year_in_century < 0) return false;
  const int year = century * 100 + year_in_century;
  return (year < kFirstYear || year > kLastYear) && is_date(year, two(text.data() + 5), two(text.data() + 8));
}

const char* IsoTimeParser::plain(const char* at, const char* end, std::int64_t& ns) const {
  if (!have_date_ || end - at < 19 || std::memcmp(at, date_, sizeof date_) != 0) return nullptr;
  const std::int64_t seconds = seconds_of_day(at + 11);
  if (seconds < 0 || (at[10] != ' ' && at[10] != 'T')) return nullptr;
  std::int64_t fraction = 0;
  at += 19;
  if (at != end && *at == '.') {
    const Digits digits = digits_at(++at);
    at += digits.count;
    if (digits.count == 0 || digits.count == 8 || at > end) return nullptr;
    fraction = digits.value * kPowersOfTen[9 - digits.count];
  }
  if (at != end && *at == 'Z') {
    ++at;
  } else if (end - at >= 6 && std::memcmp(at, "+00:00", 6) == 0) {
    at += 6;
  }
  ns = days_ * kNsPerDay + seconds * kNsPerSecond + fraction;
  return at;
}

std::string shown(std::string_view found) {
  constexpr std::size_t kMost = 40;
  std::string out = "\"";
  for (const char c : found.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    } else {
      out += c;
    }
  }
  out += found.size() > kMost ? "...\"" : "\"";
  return out;
}

}  // namespace kvplan::traces
