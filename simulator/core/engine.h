// The parts that replicas of all engines have in common: requests, a latency model in integer time, and observers.
// replica.h says how a replica is advanced; scheduler and memory belong to the engine (simulator/scheduling).
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

/// The KV slots that a request keeps after a token: the first `sink` and the last `recent`. Applied at the end of each
/// step in which the request produced a token and goes on, so never before its prompt (or what is recomputed) is
/// complete. `recent` < 0 keeps everything.
///
/// This short form is only for policies in which the kept tokens follow from lengths and dropped tokens leave holes.
/// One pair of numbers serves all requests, and blocks may be shared. All other policies use courses (course.h).
struct KeepRule {
  std::int64_t sink{0};
  std::int64_t recent{-1};

  [[nodiscard]] bool evicts() const { return recent >= 0; }
  /// Number of slots kept when `written` tokens were written.
  [[nodiscard]] std::int64_t kept(std::int64_t written) const {
    return evicts() && written > sink + recent ? sink + recent : written;
  }
  /// Logical blocks [first, end) that become empty when the dropped slots grow from [sink, begin_before) to [sink,
  /// begin).
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

/// Shared with the thread that waits for the run. That thread may ask the run to stop, and can see its progress.
struct RunControl {
  std::atomic<bool> stop{false};
  /// If set, called once in each scheduler step; a signal flag, for example
  bool (*stop_asked)(){nullptr};
  std::atomic<std::int64_t> requests_done{0};

  [[nodiscard]] bool wants_stop() const {
    return stop.load(std::memory_order_relaxed) || (stop_asked != nullptr && stop_asked());
  }
};

/// Everything one replica needs.
struct ReplicaSetup {
  const Workload* workload{nullptr};
  KeepRule keep;
  /// No KV is stored: every step computes all tokens of its requests again.
  bool keeps_nothing{false};
  /// Null: `keep` says which tokens are kept. Otherwise every request follows a course
  CourseSource* courses{nullptr};
  bool courses_find{false};  ///< requests with courses can hit the prefix cache; blocks then have ids
  bool reads_holes{false};   ///< attention also reads dropped tokens as long as their block is held
  /// Tokens at the end of a prompt (or of what is recomputed) that are computed even if they are cached. At least 1:
  /// the next token is sampled from the last. More if a token policy scores by the attention of more of them.
  std::int64_t prompt_rows{1};
  ReadRule reads{};  ///< sparse attention: steps read a part of the cache; everything is kept then
  const LatencyModel* latency{nullptr};
  std::span<Observer* const> observers;
  RunControl* control{nullptr};  ///< may be null
  /// Shared by all replicas of the run; null: this replica makes its own
  RequestColumns* columns{nullptr};
  /// A router may call Replica::cached_tokens() at any moment, so no scheduler step that takes blocks is planned
  /// ahead.
  bool contents_asked{false};

  /// Number of tokens to pass to a prefix lookup, for a request that computes `tokens` tokens before it samples.
  [[nodiscard]] std::int64_t lookup_tokens(std::int64_t tokens) const {
    return tokens > prompt_rows ? tokens - prompt_rows + 1 : 1;
  }
};

/// True: the request is served. It has input and output tokens, no more than the engine allows, and an empty pool
/// could serve it to its end. Other requests are rejected on arrival. (Naive replicas implement the rule a second
/// time.)
[[nodiscard]] inline bool is_served(const Workload& workload, RequestId request, std::int64_t most_tokens,
                                    const Memory& memory) {
  const std::size_t i = index(request);
  return workload.input[i] > 0 && workload.output[i] > 0 &&
         std::int64_t{workload.input[i]} + workload.output[i] <= most_tokens && memory.fits_empty(request);
}

/// Simulated times beyond this (2^62 ticks since the first arrival: 52 days) end a run with an error.
inline constexpr std::int64_t kLastTick = std::int64_t{1} << 62;

/// The error of a run that would pass kLastTick.
[[nodiscard]] inline Error time_is_up() {
  return bad_input(
      "simulated time passes 52 days; check arrival times, think times and latency coefficients");
}

}  // namespace kvplan::core
