// Service levels as people write them: "p99 TTFT at most 2 s, p50 TPOT at most 50 ms", each a target of its own.
//
// In a scenario (targets.percentiles_s) LATENCY.pN=SECONDS, with commas between: ttft.p99=2,tpot.p50=0.05. LATENCY is a
// latency of the report (latency_s); N a percentage above 0, at most 100, which may have decimals: p99.9.
//
// A percentile is by nearest rank, as everywhere: of n requests the ceil(N n / 100)-th least value, found among all
// values and not by a sketch. It is over the requests of the window (targets.from_s, to_s) that have such a latency to
// give (TPOT: more than one output token), and who did not complete counts as slower than any: whoever turns requests
// away does not meet a target by that. Where all complete, it is the percentile of latency_s.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/fraction.h"
#include "simulator/base/result.h"

namespace kvplan::plan {

enum class LatencyKind : std::uint8_t { kTtft, kTpot, kE2e, kQueue };
/// Keys of a report's latency_s.
inline constexpr std::array<std::string_view, 4> kLatencyNames{"ttft", "tpot", "e2e", "queue"};

struct PercentileTarget {
  std::string name;  ///< as written: "ttft.p99"
  LatencyKind latency{LatencyKind::kTtft};
  Fraction percent;  ///< above 0, at most 100
  double need_s{0};  ///< the most it may be; above 0
  friend bool operator==(const PercentileTarget&, const PercentileTarget&) = default;
};

/// Of the text in a scenario; none where it is empty. Errors: an unknown latency, a percentage or a number of seconds
/// out of range, one percentile twice.
Result<std::vector<PercentileTarget>> parse_percentile_targets(std::string_view text);

/// What a run came to.
struct PercentileOutcome {
  std::string name;  ///< of the target
  double need_s{0};
  /// Absent where the percentile is a request that did not complete, and where no request has such a latency.
  std::optional<double> have_s{};
  /// `have_s` is at most `need_s`, or no request has such a latency. Absent where no request arrived in the window.
  std::optional<bool> holds{};
  friend bool operator==(const PercentileOutcome&, const PercentileOutcome&) = default;
};

/// `values` of requests that completed, in any order, which this changes; `others` more have such a latency to give and
/// did not complete. REQUIRES: a request arrived in the window.
PercentileOutcome judged(const PercentileTarget& target, std::vector<double>& values, std::int64_t others);

/// The largest have / need: how much of its target the worst percentile takes, at most 1 where all hold. Absent where
/// there is none, where one is a request that did not complete, and where it is no finite number.
std::optional<double> percentile_ratio(const std::vector<PercentileOutcome>& outcomes);

}  // namespace kvplan::plan
