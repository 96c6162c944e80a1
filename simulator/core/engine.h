// What the replicas of any serving engine are made from: requests, a latency model in integer time, and who is told.
// replica.h says how a replica is advanced; its scheduler and its memory are the engine's (simulator/scheduling).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "simulator/base/result.h"
#include "simulator/core/allocator.h"
#include "simulator/core/latency.h"
#include "simulator/core/observer.h"
#include "simulator/core/read_rule.h"
#include "simulator/core/request_column.h"
#include "simulator/core/workload.h"
#include "simulator/courses/course.h"

namespace kvplan::core {

/// Which cells of a request stay after a token: the first `sink` and the last `recent`. Applied at the end of
/// each step in which the request produced a token and goes on, so never before its prompt (or what is
/// recomputed) is whole. `recent` < 0 keeps everything.
///
/// This is the short form for policies whose kept tokens follow from lengths and that leave holes: a pair of
/// numbers for all requests, and blocks may be shared. Everything else is told by courses (course.h).
struct KeepRule {
  std::int64_t sink{0};
  std::int64_t recent{-1};

  [[nodiscard]] bool evicts() const { return recent >= 0; }
  /// Cells kept of `written` ones.
  [[nodiscard]] std::int64_t kept(std::int64_t written) const {
    return evicts() && written > sink + recent ? sink + recent : written;
  }
  /// Logical blocks [first, end) in which nothing is kept once the cells [sink, begin) are dropped, and something was
  /// as long as only those up to `begin_before` were.
  struct Emptied {
    std::int64_t first, end;
    [[nodiscard]] std::int64_t blocks() const { return end > first ? end - first : 0; }
  };
  [[nodiscard]] Emptied emptied(std::int64_t begin_before, std::int64_t begin,
                                std::int64_t alloc_unit_tokens) const {
    const std::int64_t reached = begin_before / alloc_unit_tokens;
    const std::int64_t unprotected = ceil_div(sink, alloc_unit_tokens);
    return {reached > unprotected ? reached : unprotected, begin / alloc_unit_tokens};
  }
};

/// Shared with whoever waits for the run: may ask it to stop and see how far it is.
struct RunControl {
  std::atomic<bool> stop{false};
  bool (*stop_asked)(){nullptr};  ///< asked once per pass if set; a signal flag, for example
  std::atomic<std::int64_t> requests_done{0};

  [[nodiscard]] bool wants_stop() const {
    return stop.load(std::memory_order_relaxed) || (stop_asked != nullptr && stop_asked());
  }
};

/// Everything one replica needs.
struct ReplicaSetup {
  const Workload* workload{nullptr};
  KeepRule keep;
  /// No token has a place: every step computes all tokens of its requests again.
  bool keeps_nothing{false};
  CourseSource* courses{nullptr};  ///< null: `keep` says what stays. Else every request follows a course
  bool courses_find{false};        ///< requests with courses find cached blocks; then blocks have ids
  bool reads_holes{false};         ///< attention reads dropped tokens, too, as long as they are held
  /// So many tokens at the end of a prompt, or of what is recomputed, are computed even where they are found cached:
  /// the last one is sampled from, and a token policy may decide by the rows of more. At least 1.
  std::int64_t prompt_rows{1};
  ReadRule reads{};  ///< a part is read of what is kept; then everything is kept
  const LatencyModel* latency{nullptr};
  std::span<Observer* const> observers;
  RunControl* control{nullptr};      ///< may be null
  RequestColumns* columns{nullptr};  ///< of all replicas of the run; null: this one makes its own
  /// Replica::cached_tokens() may be asked at any moment: no pass that takes blocks is planned ahead.
  bool contents_asked{false};

  /// What a lookup is told that a request has to compute, of so many tokens until it samples one.
  [[nodiscard]] std::int64_t lookup_tokens(std::int64_t tokens) const {
    return tokens > prompt_rows ? tokens - prompt_rows + 1 : 1;
  }
};

/// Whether a request is served: it has tokens on both sides, no more than the engine takes, and an empty memory could
/// carry it to its end. Others are rejected on arrival. (Naive replicas have the rule a second time.)
[[nodiscard]] inline bool is_served(const Workload& workload, RequestId request, std::int64_t most_tokens,
                                    const Memory& memory) {
  const std::size_t i = index(request);
  return workload.input[i] > 0 && workload.output[i] > 0 &&
         std::int64_t{workload.input[i]} + workload.output[i] <= most_tokens && memory.fits_empty(request);
}

/// Simulated times beyond this (2^62 ticks since the first arrival: 52 days) end a run with an error.
inline constexpr std::int64_t kLastTick = std::int64_t{1} << 62;

/// What a run that would pass it ends with.
[[nodiscard]] inline Error time_is_up() {
  return bad_input(
      "simulated time passes 52 days; check arrival times, think times and latency coefficients");
}

}  // namespace kvplan::core
