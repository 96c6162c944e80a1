// Parses values from text: counts, times, names. Nothing is rounded silently except times finer than a nanosecond.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvplan::traces {

enum class TimeUnit : std::uint8_t {
  kIso,      ///< date and time of day, "2023-11-16 18:15:46.6805900", with or without a zone
  kSeconds,  ///< decimal number
  kMillis,
  kMicros,
  kNanos,
};
/// "iso", "s", "ms", "us", "ns".
std::string_view time_unit_name(TimeUnit unit);
std::optional<TimeUnit> time_unit_from(std::string_view name);

/// Power of ten that converts a unit to nanoseconds: 9 for seconds, 0 for nanoseconds. REQUIRES: not kIso.
int exponent_of(TimeUnit unit);

/// A decimal number in `unit` as nanoseconds: exact, with halves of a nanosecond rounded up. An exponent is allowed, a
/// sign is not. nullopt for any other text, and if it does not fit 63 bits. REQUIRES: unit is not kIso.
std::optional<std::int64_t> parse_time_number(std::string_view text, TimeUnit unit);

/// parse_count for texts that its fast path does not accept.
std::optional<std::int32_t> parse_long_count(std::string_view text);
/// Whole number from 0 to 2^31 - 1; a fraction of zeros ("374.0") is accepted.
inline std::optional<std::int32_t> parse_count(std::string_view text) {
  if (text.empty() || text.size() > 9) return parse_long_count(text);
  std::int32_t value = 0;
  for (const char c : text) {
    const auto digit = static_cast<std::uint32_t>(c) - '0';
    if (digit > 9) return parse_long_count(text);
    value = value * 10 + static_cast<std::int32_t>(digit);
  }
  return value;
}
/// Whole number from 0 to 2^64 - 1.
std::optional<std::uint64_t> parse_id(std::string_view text);

/// `YYYY-MM-DD hh:mm:ss[.f]` with `T` or a space between, 0 to 9 fraction digits, and `Z`, `+hh:mm`, `+hhmm`,
/// `+hh` or nothing (taken as UTC) after it. Keeps the latest date, since neighbouring rows share it.
class IsoTimeParser {
 public:
  /// Nanoseconds since 1970-01-01T00:00:00Z; nullopt if the text is no such time, or a time outside 1678 to 2261.
  std::optional<std::int64_t> parse(std::string_view text);
  /// For a text that `parse` does not accept: true if it begins with a date outside those years.
  static bool is_out_of_range(std::string_view text);
  /// The fast path (digits.h) for a UTC time on the stored date, up to 7 fraction digits, at the front of a text.
  /// REQUIRES: kDigitsRoom bytes behind `end`.
  const char* plain(const char* at, const char* end, std::int64_t& ns) const;

 private:
  char date_[10]{};
  std::int64_t days_{0};
  bool have_date_{false};
};

/// The text as error messages quote it: in quotes, control characters as \xNN, cut after 40 bytes.
std::string shown(std::string_view found);

}  // namespace kvplan::traces
