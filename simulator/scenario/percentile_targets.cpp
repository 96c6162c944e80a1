#include "simulator/scenario/percentile_targets.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/check.h"
#include "simulator/base/component.h"
#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"
#include "simulator/base/units.h"

namespace kvplan::runs {
namespace {

constexpr double kMostSeconds = 1e9;  // the same limit as for all seconds in a scenario

/// LATENCY.pN=SECONDS
Result<PercentileTarget> one_target(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::size_t dot = text.substr(0, equals).find('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos ||
      !text.substr(dot + 1).starts_with('p'))
    return not_expected("LATENCY.pN=SECONDS such as ttft.p99=2", text);
  const std::string_view latency = text.substr(0, dot);
  const auto* const known = std::find(kLatencyNames.begin(), kLatencyNames.end(), latency);
  if (known == kLatencyNames.end()) return bad_input(unknown_name("latency", latency, kLatencyNames));
  PercentileTarget target{.name = std::string(text.substr(0, equals)),
                          .latency = static_cast<LatencyKind>(known - kLatencyNames.begin()),
                          .percent = {},
                          .need_s = 0};
  const std::string_view percent = text.substr(dot + 2, equals - dot - 2);
  const Result<Fraction> fraction = parse_fraction(percent);
  // p/q cannot be part of a name.
  if (!fraction.ok() || percent.find('/') != std::string_view::npos ||
      Wide{fraction.value().numerator} > Wide{100} * fraction.value().denominator)
    return not_expected("p and a percentage above 0, at most 100, such as p99 or p99.9",
                        text.substr(dot + 1, equals - dot - 1));
  target.percent = fraction.value();
  const std::string_view seconds = text.substr(equals + 1);
  const auto value = parse_decimal(seconds);
  if (!value || *value <= 0 || *value > kMostSeconds)
    return Error(not_expected("a positive number of seconds, at most 1e9", seconds)).at_field(target.name);
  target.need_s = *value;
  return target;
}

}  // namespace

Result<std::vector<PercentileTarget>> parse_percentile_targets(std::string_view text) {
  std::vector<PercentileTarget> out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    KVPLAN_TRY(PercentileTarget target, one_target(text.substr(0, comma)));
    if (comma + 1 == text.size()) return not_expected("LATENCY.pN=SECONDS such as ttft.p99=2", "");
    const auto same = std::find_if(out.begin(), out.end(), [&](const PercentileTarget& other) {
      return other.latency == target.latency && other.percent == target.percent;
    });
    if (same != out.end())
      return bad_input("expected one target of " + same->name + ", found a second, " + target.name);
    out.push_back(std::move(target));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return out;
}

PercentileOutcome judged(const PercentileTarget& target, std::vector<double>& values, std::int64_t others) {
  PercentileOutcome out{.name = target.name, .need_s = target.need_s};
  const auto completed = static_cast<std::int64_t>(values.size());
  const Wide whole = Wide{100} * target.percent.denominator;
  const Wide rank = (Wide{completed + others} * target.percent.numerator + whole - 1) / whole;
  if (rank > completed) {
    out.holds = false;
    return out;
  }
  if (rank > 0) {  // with rank 0 no request has this latency
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(values.begin(), place, values.end());
    out.have_s = *place;
  }
  out.holds = !out.have_s || *out.have_s <= target.need_s;
  return out;
}

std::optional<double> percentile_ratio(const std::vector<PercentileOutcome>& outcomes) {
  std::optional<double> most;
  for (const PercentileOutcome& each : outcomes) {
    if (!each.have_s && !each.holds.value_or(true)) return std::nullopt;
    if (each.have_s) most = std::max(most.value_or(0), *each.have_s / each.need_s);
  }
  if (most && !std::isfinite(*most)) return std::nullopt;  // the target is next to zero
  return most;
}

}  // namespace kvplan::runs
