#include "simulator/sweep/draw.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_set>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/base/number_input.h"
#include "simulator/base/random.h"
#include "simulator/scenario/plain_decimal.h"

namespace kvplan::sweep {
namespace {

constexpr std::uint64_t kDrawsBetweenAsking = 4096;
constexpr int kMostRepeats = 100'000;  // in a row; then hardly any case is left, which is an error

/// Parses PATH=A..B or PATH=A..B:log. Returns nothing if the text is something else.
Result<std::optional<Spread>> parse_range(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::size_t dots = text.find("..");
  if (equals == std::string_view::npos || equals == 0 || dots == std::string_view::npos || dots < equals)
    return std::optional<Spread>();
  Spread spread;
  spread.of.path = text.substr(0, equals);
  std::string_view high = text.substr(dots + 2);
  if (high.ends_with(":log")) {
    high.remove_suffix(4);
    spread.logarithmic = true;
  }
  const std::string_view low = text.substr(equals + 1, dots - equals - 1);
  const bool list = high.find(':') != std::string_view::npos || text.find(';') != std::string_view::npos;
  if (list || !runs::looks_like_number(low)) return std::optional<Spread>();  // parse_vary handles it
  const auto field = [&](Error error) { return std::move(error).at_field("--vary " + spread.of.path); };
  const std::string_view range = text.substr(equals + 1);
  if (!runs::is_plain_decimal(low) || !runs::is_plain_decimal(high))
    return field(
        not_expected("A..B or A..B:log with numbers from 0 on, as digits with or without a point", range));
  spread.decimals = std::max(runs::decimals_of(low), runs::decimals_of(high));
  const auto begin = runs::scaled_decimal(low, spread.decimals);
  const auto end = runs::scaled_decimal(high, spread.decimals);
  if (!begin || !end) return field(not_expected("a range of numbers that fit 63 bits", range));
  if (*begin > *end) return field(not_expected("A..B with A at most B", range));
  if (spread.logarithmic && *begin == 0)
    return field(not_expected("a logarithmic range that begins above 0", range));
  spread.low = *begin;
  spread.high = *end;
  return std::optional(spread);
}

/// How many values the varied path can take; at most INT64_MAX.
std::int64_t choices(const Spread& spread) {
  if (!spread.of.values.empty()) return static_cast<std::int64_t>(spread.of.values.size());
  const std::int64_t more = spread.high - spread.low;
  return more == INT64_MAX ? more : more + 1;
}

/// Draws the index of a value, or a number of the range.
std::int64_t draw(const Spread& spread, Random& random) {
  if (!spread.of.values.empty()) return static_cast<std::int64_t>(random.below(spread.of.values.size()));
  if (spread.logarithmic) return logarithmic_draw(spread.low, spread.high, random.next());
  return random.between(spread.low, spread.high);
}

struct RowHash {
  std::size_t operator()(const std::vector<std::int64_t>& row) const {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const std::int64_t value : row) hash = Random(hash ^ static_cast<std::uint64_t>(value)).next();
    return hash;
  }
};

}  // namespace

Result<Spread> parse_spread(std::string_view text) {
  KVPLAN_TRY(std::optional<Spread> range, parse_range(text));
  if (range) return std::move(*range);
  KVPLAN_TRY(runs::Vary vary, runs::parse_vary(text));
  return Spread{std::move(vary), 0, 0, 0, false};
}

std::int64_t logarithmic_draw(std::int64_t low, std::int64_t high, std::uint64_t draw) {
  KVPLAN_CHECK(1 <= low && low <= high, low, high);
  // low * (end / low)^u, where u is the highest 53 bits as a fraction: one factor for each bit, from square roots. Both
  // operations are rounded in the same way on all machines; logarithms are not.
  double value = static_cast<double>(low);
  double factor = (static_cast<double>(high) + 1.0) / value;
  for (int bit = 63; bit > 10; --bit) {
    factor = std::sqrt(factor);
    if (((draw >> bit) & 1) != 0) value *= factor;
  }
  if (value >= static_cast<double>(high)) return high;
  return std::max(low, static_cast<std::int64_t>(value));
}

Result<runs::Combinations> draw_cases(const std::vector<Spread>& spreads, std::int64_t count,
                                      std::uint64_t seed, const std::function<bool()>& stop) {
  KVPLAN_CHECK(!spreads.empty() && count > 0);
  std::int64_t all = 1;
  std::vector<Random> streams;
  for (const Spread& spread : spreads) {
    all = all > INT64_MAX / choices(spread) ? INT64_MAX : all * choices(spread);
    streams.emplace_back(seed, "sweep " + spread.of.path);
  }
  if (all < count)
    return bad_input("expected at most " + std::to_string(all) +
                     " different cases, because there are no more; found " + std::to_string(count))
        .at_field("--random");

  std::vector<std::vector<std::int64_t>> rows;
  std::unordered_set<std::vector<std::int64_t>, RowHash> seen;
  std::uint64_t draws = 0;
  for (int repeats = 0; static_cast<std::int64_t>(rows.size()) < count;) {
    if (++draws % kDrawsBetweenAsking == 0 && stop && stop()) return interrupted_error();
    std::vector<std::int64_t> row;
    for (std::size_t i = 0; i < spreads.size(); ++i) row.push_back(draw(spreads[i], streams[i]));
    if (seen.insert(row).second) {
      rows.push_back(std::move(row));
      repeats = 0;
    } else if (++repeats == kMostRepeats) {
      return bad_input("almost every remaining draw repeats an earlier case after " +
                       std::to_string(rows.size()) + " cases: draw fewer, or run all combinations")
          .at_field("--random");
    }
  }

  std::vector<runs::Vary> varies;
  std::vector<std::uint32_t> places(rows.size() * spreads.size());
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    runs::Vary vary = spreads[i].of;
    std::vector<std::int64_t> numbers;
    if (vary.values.empty()) {
      for (const auto& row : rows) numbers.push_back(row[i]);
      std::sort(numbers.begin(), numbers.end());
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
      for (const std::int64_t number : numbers)
        vary.values.push_back(runs::decimal_text(number, spreads[i].decimals));
    }
    for (std::size_t k = 0; k < rows.size(); ++k) {
      std::int64_t place = rows[k][i];
      if (!numbers.empty()) place = std::lower_bound(numbers.begin(), numbers.end(), place) - numbers.begin();
      places[k * spreads.size() + i] = static_cast<std::uint32_t>(place);
    }
    varies.push_back(std::move(vary));
  }
  return runs::Combinations::chosen(std::move(varies), std::move(places));
}

}  // namespace kvplan::sweep
