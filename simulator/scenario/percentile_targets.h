// Service levels in the usual notation: "p99 TTFT at most 2 s, p50 TPOT at most 50 ms", each a separate target.
//
// In a scenario (targets.percentiles_s): LATENCY.pN=SECONDS, separated by commas: ttft.p99=2,tpot.p50=0.05. LATENCY
// is a latency of the report (latency_s); N a percentage above 0, at most 100, which may have decimals: p99.9.
//
// A percentile is by nearest rank, as everywhere: of n requests the ceil(N n / 100)-th least value, found among all
// values and not by a sketch. It covers the requests of the window (targets.from_s, to_s) that can have such a latency
// (TPOT: more than one output token). A request that did not complete counts as slower than any other, so rejecting
// requests does not help to meet a target. If all complete, it is the percentile of latency_s.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/fraction.h"
#include "simulator/base/result.h"

namespace kvplan::runs {

enum class LatencyKind : std::uint8_t { kTtft, kTpot, kE2e, kQueue };
/// Keys of a report's latency_s.
inline constexpr std::array<std::string_view, 4> kLatencyNames{"ttft", "tpot", "e2e", "queue"};

struct PercentileTarget {
  std::string name;  ///< as written: "ttft.p99"
  LatencyKind latency{LatencyKind::kTtft};
  Fraction percent;  ///< above 0, at most 100
  double need_s{0};  ///< largest allowed value; above 0
  friend bool operator==(const PercentileTarget&, const PercentileTarget&) = default;
};

/// Parses the text in a scenario; none if it is empty. Errors: an unknown latency, a percentage or number of seconds
/// out of range, one percentile twice.
Result<std::vector<PercentileTarget>> parse_percentile_targets(std::string_view text);

/// The outcome of one target in a run.
struct PercentileOutcome {
  std::string name;  ///< name of the target
  double need_s{0};
  /// Absent if the request at the percentile did not complete, or if no request has such a latency.
  std::optional<double> have_s{};
  /// True: `have_s` is at most `need_s`, or no request has such a latency. Absent if no request arrived in the
  /// window.
  std::optional<bool> holds{};
  friend bool operator==(const PercentileOutcome&, const PercentileOutcome&) = default;
};

/// `values`: latencies of completed requests, in any order; they are reordered. `others`: requests that should have
/// such a latency but did not complete. REQUIRES: a request arrived in the window.
PercentileOutcome judged(const PercentileTarget& target, std::vector<double>& values, std::int64_t others);

/// The largest have / need, which is at most 1 if all targets hold. Absent if there are no targets, if the request at
/// one of the percentiles did not complete, or if the ratio is not a finite number.
std::optional<double> percentile_ratio(const std::vector<PercentileOutcome>& outcomes);

}  // namespace kvplan::runs
