#include "simulator/planner/target.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "simulator/base/component.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"
#include "simulator/report/number_text.h"
#include "simulator/report/target_words.h"

namespace kvplan::planner {
namespace {

using runs::kLatencyNames;
using runs::LatencyKind;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr const char* kForms =
    "a target such as ttft.p99<=2s, tpot<=60ms, met>=0.99 or goodput>=5/s (latencies: ttft, tpot, e2e, "
    "queue)";

/// Seconds of a text with a unit.
Result<double> read_time(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 3> kUnits{{{"ms", 1e-3}, {"us", 1e-6}, {"s", 1}}};
  for (const auto& [unit, seconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto number = parse_decimal(text.substr(0, text.size() - unit.size()));
    if (number && *number > 0) return *number * seconds;
  }
  return not_expected("a time above 0 with its unit s, ms or us, such as 60ms", text);
}

/// What was read so far.
struct Read {
  std::vector<std::pair<std::string, double>> percentiles;  // "ttft.p99", seconds
  std::array<std::optional<double>, 3> each{};              // limits for each request, by LatencyKind
  std::optional<std::string> fraction;
  std::optional<double> goodput;
};

Status read_at_most(std::string_view name, std::string_view limit, Read& out) {
  const std::size_t dot = name.find('.');
  const std::string_view latency = name.substr(0, dot);
  const auto* const known = std::find(kLatencyNames.begin(), kLatencyNames.end(), latency);
  if (known == kLatencyNames.end()) return bad_input(unknown_name("latency", latency, kLatencyNames));
  KVPLAN_TRY(const double seconds, read_time(limit));
  if (dot != std::string_view::npos) {
    out.percentiles.emplace_back(std::string(name), seconds);
    return Done{};
  }
  const auto kind = static_cast<std::size_t>(known - kLatencyNames.begin());
  if (kind >= out.each.size())
    return bad_input("expected a percentile such as queue.p99<=2s: no limit of single requests for queue");
  if (out.each[kind]) return bad_input("expected one limit of " + std::string(latency) + ", found a second");
  out.each[kind] = seconds;
  return Done{};
}

Status read_at_least(std::string_view name, std::string_view limit, Read& out) {
  if (name != "met" && name != "goodput") return not_expected(kForms, std::string(name) + ">=");
  if (name == "goodput" && limit.ends_with("/s")) {
    const auto rate = parse_decimal(limit.substr(0, limit.size() - 2));
    if (!rate || *rate <= 0 || *rate > 1e9)
      return not_expected("requests per second such as 5/s, at most 1e9/s", limit);
    if (out.goodput) return bad_input("expected one goodput, found a second");
    out.goodput = rate;
    return Done{};
  }
  const auto share = parse_decimal(limit);
  if (!share || *share <= 0 || *share > 1)
    return not_expected(name == "met" ? "a share above 0, at most 1, such as 0.99"
                                      : "a share such as 0.99, or requests per second such as 5/s",
                        limit);
  if (out.fraction) return bad_input("expected one share of met requests, found a second");
  out.fraction = limit;
  return Done{};
}

/// "ttft.p99=2": parsed as scenarios are, so that a target of either origin is the same.
std::string percentiles_text(const Read& read) {
  std::string out;
  for (const auto& [name, seconds] : read.percentiles)
    out.append(out.empty() ? "" : ",").append(name).append("=").append(shortest(seconds));
  return out;
}

}  // namespace

std::string Target::text() const {
  switch (kind) {
    case TargetKind::kPercentile:
      return report::percentile_name(name) + " at most " + value_text(limit);
    case TargetKind::kMetFraction:
      return "at least " + value_text(limit) + " of the requests in time";
    case TargetKind::kGoodput:
      return "at least " + value_text(limit) + " in time";
  }
  return {};
}

std::string Target::value_text(double value) const {
  if (std::isinf(value)) return "of a request that did not complete";
  if (kind == TargetKind::kPercentile) return report::seconds_text(value);
  if (kind == TargetKind::kMetFraction) return report::percent(value);
  return report::rounded(value) + " requests/s";
}

Result<TargetOptions> parse_targets(const std::vector<std::string>& texts) {
  TargetOptions out;
  if (texts.empty()) return out;
  Read read;
  for (const std::string& text : texts) {
    const std::size_t at_most = text.find("<="), at_least = text.find(">=");
    const std::size_t at = std::min(at_most, at_least);
    if (at == std::string::npos) return Error(not_expected(kForms, text)).at_field("--target");
    const std::string name = text.substr(0, at), limit = text.substr(at + 2);
    const Status status = at == at_most ? read_at_most(name, limit, read) : read_at_least(name, limit, read);
    if (!status.ok()) return Error(status.error()).at_field("--target " + text);
  }
  const auto parsed = runs::parse_percentile_targets(percentiles_text(read));
  if (!parsed.ok()) return Error(parsed.error()).at_field("--target");
  const bool any =
      std::any_of(read.each.begin(), read.each.end(), [](const auto& x) { return x.has_value(); });
  if ((read.fraction || read.goodput) && !any) {
    for (const runs::PercentileTarget& each : parsed.value()) {
      const auto kind = static_cast<std::size_t>(each.latency);
      if (kind < read.each.size())
        read.each[kind] = std::min(read.each[kind].value_or(kInfinite), each.need_s);
    }
    if (std::none_of(read.each.begin(), read.each.end(), [](const auto& x) { return x.has_value(); }))
      return bad_input("expected a limit such as ttft<=2s beside met or goodput: they count requests in time")
          .at_field("--target");
  }
  const auto add = [&](const char* path, std::string value) {
    out.settings.push_back({path, std::move(value), {}, 0});
    out.settings.back().option = "--target";
  };
  const std::string percentiles = percentiles_text(read);
  add("targets.percentiles_s", percentiles.empty() ? "none" : percentiles);
  constexpr std::array<const char*, 3> kPaths{"targets.ttft_s", "targets.tpot_s", "targets.e2e_s"};
  for (std::size_t kind = 0; kind < kPaths.size(); ++kind)
    add(kPaths[kind], read.each[kind] ? shortest(*read.each[kind]) : "none");
  if (read.fraction) add("targets.fraction", *read.fraction);
  // Goodput alone asks for no share.
  if (read.goodput && !read.fraction) add("targets.fraction", "0.000001");
  out.goodput_per_s = read.goodput;
  return out;
}

std::vector<Target> targets_of(const runs::Scenario& scenario, std::optional<double> goodput_per_s) {
  std::vector<Target> out;
  for (const runs::PercentileTarget& each : scenario.percentiles)
    out.push_back({TargetKind::kPercentile, each.name, each.need_s});
  const double share = static_cast<double>(scenario.target_fraction.numerator) /
                       static_cast<double>(scenario.target_fraction.denominator);
  if (scenario.has_request_targets() && !(goodput_per_s && share < 1e-5))
    out.push_back({TargetKind::kMetFraction, "met_fraction", share});
  if (goodput_per_s) out.push_back({TargetKind::kGoodput, "goodput_per_s", *goodput_per_s});
  return out;
}

std::vector<TargetValue> values_of(const runs::RunSummary& result, const std::vector<Target>& targets) {
  std::vector<TargetValue> out;
  for (const Target& target : targets) {
    if (target.kind == TargetKind::kMetFraction) {
      out.push_back(result.slo_met_fraction);
    } else if (target.kind == TargetKind::kGoodput) {
      out.emplace_back(result.goodput_per_s.value_or(0));
    } else {
      const auto found =
          std::find_if(result.percentiles.begin(), result.percentiles.end(),
                       [&](const runs::PercentileOutcome& each) { return each.name == target.name; });
      if (found == result.percentiles.end() || (!found->have_s && found->holds.value_or(true))) {
        out.emplace_back();
      } else {
        out.emplace_back(found->have_s.value_or(kInfinite));
      }
    }
  }
  return out;
}

bool holds(const Target& target, const TargetValue& value) {
  if (!value) return true;
  return target.at_most() ? *value <= target.limit : *value >= target.limit;
}

Target looser(Target target, double share) {
  switch (target.kind) {
    case TargetKind::kPercentile:
      target.limit *= 1 + share;
      break;
    case TargetKind::kMetFraction:
      target.limit = 1 - (1 - target.limit) * (1 + share);
      break;
    case TargetKind::kGoodput:
      target.limit *= 1 - share;
      break;
  }
  return target;
}

double tightness(const Target& target, const TargetValue& value) {
  if (!value) return 0;
  if (target.at_most()) return *value / target.limit;
  if (target.kind == TargetKind::kGoodput) return *value > 0 ? target.limit / *value : kInfinite;
  const double may = 1 - target.limit, miss = 1 - *value;
  if (may <= 0) return miss <= 0 ? 1 : kInfinite;
  return miss / may;
}

double tightness(const std::vector<Target>& targets, const std::vector<TargetValue>& values) {
  double most = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) most = std::max(most, tightness(targets[i], values[i]));
  return most;
}

double request_latency_s(const runs::RunResult& r, std::size_t i, LatencyKind kind) {
  const observe::RequestRecord& record = r.records[i];
  switch (kind) {
    case LatencyKind::kTtft:
      return seconds(record.first_token - record.arrival);
    case LatencyKind::kTpot:
      return r.output[i] > 1
                 ? seconds(record.finish - record.first_token) / static_cast<double>(r.output[i] - 1)
                 : 0;
    case LatencyKind::kE2e:
      return seconds(record.finish - record.arrival);
    case LatencyKind::kQueue:
      return seconds(record.first_scheduled - record.arrival);
  }
  return 0;
}

std::optional<LatencyKind> latency_kind(std::string_view name) {
  const auto* const known =
      std::find(kLatencyNames.begin(), kLatencyNames.end(), name.substr(0, name.find('.')));
  if (known == kLatencyNames.end()) return std::nullopt;
  return static_cast<LatencyKind>(known - kLatencyNames.begin());
}

std::optional<double> met_fraction(const runs::RunResult& result, std::vector<std::size_t>* late) {
  const runs::Scenario& s = result.scenario;
  std::array<double, kLatencyNames.size()> limits{};
  limits.fill(kInfinite);
  const std::array<std::optional<double>, 3> each{s.target_ttft_s, s.target_tpot_s, s.target_e2e_s};
  for (const runs::PercentileTarget& target : s.percentiles) {
    double& limit = limits[static_cast<std::size_t>(target.latency)];
    limit = std::min(limit, target.need_s);
  }
  for (std::size_t kind = 0; kind < each.size(); ++kind)
    if (each[kind]) limits[kind] = *each[kind];
  if (std::all_of(limits.begin(), limits.end(), [](double limit) { return std::isinf(limit); }))
    return std::nullopt;
  std::int64_t asked = 0, met = 0;
  for (std::size_t i = 0; i < result.records.size(); ++i) {
    const observe::RequestRecord& record = result.records[i];
    if (record.status == observe::RequestStatus::kNotArrived) continue;
    if (!s.in_window(seconds(record.arrival.since_start))) continue;
    ++asked;
    bool good = record.status == observe::RequestStatus::kCompleted;
    for (std::size_t kind = 0; good && kind < limits.size(); ++kind)
      good = std::isinf(limits[kind]) ||
             request_latency_s(result, i, static_cast<LatencyKind>(kind)) <= limits[kind];
    met += good ? 1 : 0;
    if (!good && late != nullptr) late->push_back(i);
  }
  if (asked == 0) return std::nullopt;
  return static_cast<double>(met) / static_cast<double>(asked);
}

}  // namespace kvplan::planner
