// What a comparison says in numbers: each variant's figures against the first one's, and the knee of a pool that is
// varied. The words are simulator/report/answer.h's part.
//
// Figures of two variants are put into relation only where they are about the same work: the same trace, as many
// requests that arrived and completed, and as many tokens of completed requests. A variant that rejects the long
// requests is faster for that reason alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/results/figures.h"
#include "simulator/run/summary.h"
#include "simulator/study/compare.h"

namespace kvplan::plan {

/// A figure of a result that variants are compared by.
struct Metric {
  std::string name;  ///< as in JSON, the unit at its end
  const Figure* figure;
  bool less_is_better{false};
  bool per_gpu{false};  ///< the figure through the number of devices

  [[nodiscard]] std::optional<double> value(const RunSummary& result) const;
};

/// Shares of the memory by state (less of each but live is better), requests at once, speed, latency, preemptions;
/// devices, and speed through their number.
std::span<const Metric> answer_metrics();
/// REQUIRES: there is one of this name.
const Metric& answer_metric(std::string_view name);

/// The states that are memory neither used nor usable, in the order in which ties are decided.
inline constexpr std::array<observe::State, 6> kLossStates{
    observe::State::kInternal, observe::State::kReserved, observe::State::kStranded,
    observe::State::kTail,     observe::State::kHole,     observe::State::kPadding};

/// The state of kLossStates that takes most, averaged over time. None where nothing is lost, or no time passed.
std::optional<observe::State> largest_loss(const RunSummary& result);

/// The same work: see above.
bool same_work(const RunSummary& a, const RunSummary& b);

/// The same requests at the same times, with the same targets.
bool same_load(const RunSummary& a, const RunSummary& b);

/// The same memory, and all else the same but how it is given out and what is kept in it: allocator, token policy,
/// format. Only then it is a merit that more requests run at once: at one load, a slower server has more of them too.
bool same_memory(const RunSummary& a, const RunSummary& b);

/// The same number of the same devices, divided in the same way.
bool same_hardware(const RunSummary& a, const RunSummary& b);

/// The first variant that completed a request, or else the first that ran; the others are measured against it.
/// REQUIRES: one ran.
std::size_t baseline_of(const Comparison& comparison);

/// One figure of one variant. `versus` and `ratio` (this value through that one's) are absent for the baseline
/// itself, where the work is not the same, and where the other value is 0.
struct Fact {
  std::size_t variant{0};
  std::string_view metric;
  std::optional<double> value;
  std::optional<std::size_t> versus{};
  std::optional<double> ratio{};
};

/// Facts of all variants that ran, in their order. REQUIRES: one ran.
std::vector<Fact> facts_of(const Comparison& comparison);

/// How near to the largest pool a figure has to be.
inline constexpr double kKneeShare = 0.05;

/// Where a larger pool stops to help, for one figure. The knee is the smallest pool of those tried from which on
/// (it and every larger one) the figure is within kKneeShare of the largest pool's (preemptions: there are none)
/// and the work is the same.
struct Knee {
  std::string_view metric;
  std::vector<std::size_t> variants;  ///< by size of the pool, least first; at least three
  /// Place in `variants`. None: preemptions at the largest pool too.
  std::optional<std::size_t> at;
};

/// The path of the pool that is varied, or empty.
std::string_view varied_pool(const Comparison& comparison);
/// Size of a variant's pool in the unit in which it was given (bytes, tokens or blocks).
std::int64_t pool_size(const RunSummary& result);

/// Knees of output_tokens_per_s, ttft_p99_s and preemptions, where a pool is varied in three values or more that ran;
/// apart for each combination of the other varied values. Figures that are absent for a variant have no knee.
std::vector<Knee> knees_of(const Comparison& comparison);

}  // namespace kvplan::plan
