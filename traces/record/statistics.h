// The statistics that `kvplan trace info` prints about a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/record/trace.h"

namespace kvplan::traces {

/// Mean and nearest-rank percentiles of token counts (the value at rank ceil(p n) of the sorted ones).
struct TokenStatistics {
  std::optional<double> mean;  ///< here and below: nullopt for a trace without requests
  std::optional<std::int64_t> p50, p95, p99, max;
};

/// How much the prompts share from their beginnings. A reference is a hit if it and all references before it in the
/// same prompt were seen in an earlier request, with requests in file order and nothing ever evicted.
struct PrefixStatistics {
  std::int64_t block_tokens{0};
  std::int64_t references{0};
  std::int64_t distinct{0};
  std::optional<double> infinite_hit_blocks;  ///< hits over all references
  std::optional<double> infinite_hit_tokens;  ///< sum of min(hits x block, prompt) over all prompt tokens
};

/// Requests that wait for others.
struct TurnStatistics {
  std::int64_t waiting{0};
  std::int64_t waits{0};
  std::optional<std::int64_t>
      longest_chain;  ///< length of the longest chain of waits, in requests; nullopt if there is a cycle of waits
};

struct Statistics {
  std::int64_t requests{0};
  std::int64_t sessions{0};  ///< number of named sessions; 0 if the source has none
  /// nullopt if the requests share no clock; the rate and the variation also if the gaps do not define
  /// them.
  std::optional<double> span_s;
  std::optional<double> rate_per_s;  ///< (requests - 1) / span
  std::optional<double>
      interarrival_cv;  ///< population standard deviation of gaps between sorted arrivals / mean
  TokenStatistics input;
  TokenStatistics output;
  std::optional<PrefixStatistics> prefix;
  std::optional<TurnStatistics> turns;  ///< nullopt if no request waits
};

/// O(n log n) time, O(n) memory beside the trace.
Statistics compute_statistics(const Trace& trace);

}  // namespace kvplan::traces
