// Targets of a plan: what a deployment has to reach.
//
//   ttft.p99<=2s      a percentile of a latency (ttft, tpot, e2e, queue) over all requests
//   ttft<=2s          a limit for each request (ttft, tpot, e2e); `met` says how many requests have to keep it
//   met>=0.99         share of the arrived requests that keep every limit for each request; goodput>=0.99 is the same
//   goodput>=5/s      such requests per second of the makespan
//
// Times have a unit: s, ms or us. With `met` or `goodput` and no limit for each request, the limits of the percentiles
// are limits for each request too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/run/run.h"

namespace kvplan::planner {

enum class TargetKind : std::uint8_t { kPercentile, kMetFraction, kGoodput };

struct Target {
  TargetKind kind{TargetKind::kPercentile};
  std::string name;  ///< "ttft.p99", "met_fraction", "goodput_per_s"
  double limit{0};   ///< seconds, a share, or requests per second

  /// True: smaller values are better.
  [[nodiscard]] bool at_most() const { return kind == TargetKind::kPercentile; }
  /// "TTFT p99 at most 2.00 s".
  [[nodiscard]] std::string text() const;
  /// A value of this target as text: "1.23 s", "99.1 %".
  [[nodiscard]] std::string value_text(double value) const;
};

/// The targets that the options of a command set.
struct TargetOptions {
  std::vector<runs::Setting> settings;  ///< they replace all targets of the scenario; empty without options
  std::optional<double> goodput_per_s;
};
/// Errors: an unknown target, a unit that does not fit (field: the text), a target that occurs twice.
Result<TargetOptions> parse_targets(const std::vector<std::string>& texts);

/// All targets of a scenario, in a fixed order.
std::vector<Target> targets_of(const runs::Scenario& scenario, std::optional<double> goodput_per_s);

/// The value of a target in a run. Absent: no request has such a latency, so the target holds. Infinite: the
/// percentile is a request that did not complete.
using TargetValue = std::optional<double>;
/// Parallel to `targets`, which are those of the run's scenario.
std::vector<TargetValue> values_of(const runs::RunSummary& result, const std::vector<Target>& targets);

[[nodiscard]] bool holds(const Target& target, const TargetValue& value);
/// The target with a limit that is easier to reach: latencies longer by `share`, more requests that may miss by
/// `share`, a goodput lower by `share`.
Target looser(Target target, double share);
/// How near the values are to the limits: the largest value / limit (limit / value if the limit is a minimum; missed
/// requests for the share `met`). At most 1 if all hold; infinite if a percentile is a request that did not complete.
double tightness(const std::vector<Target>& targets, const std::vector<TargetValue>& values);
/// The tightness of one target.
double tightness(const Target& target, const TargetValue& value);

/// A latency of a completed request in seconds; 0 if the request has none (TPOT of one token).
double request_latency_s(const runs::RunResult& result, std::size_t request, runs::LatencyKind kind);
/// The kind of latency with which the target's name begins; absent: it is not a target of a latency.
std::optional<runs::LatencyKind> latency_kind(std::string_view name);

/// The share of arrived requests (in the window of targets) that keep every latency limit: those for each request,
/// and for kinds of latency without one the smallest limit of a percentile. Absent if none arrived or nothing is
/// limited. `late`: if given, is set to the positions of the others. REQUIRES: results by request.
std::optional<double> met_fraction(const runs::RunResult& result, std::vector<std::size_t>* late);

}  // namespace kvplan::planner
