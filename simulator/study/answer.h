// A comparison in numbers: each variant's figures relative to those of the first variant, and the knee of a varied
// pool. simulator/report/answer.h puts them into words.
//
// Figures of two variants are compared only if they did the same work: the same trace, the same numbers of requests
// that arrived and completed, and the same tokens of completed requests. A variant that rejects the long requests is
// faster for that reason alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/results/figures.h"
#include "simulator/run/summary.h"
#include "simulator/study/compare.h"

namespace kvplan::runs {

/// A figure by which variants are compared.
struct Metric {
  std::string name;  ///< name in JSON, with the unit at its end
  const Figure* figure;
  bool less_is_better{false};
  bool per_gpu{false};  ///< true: the figure divided by the number of devices

  [[nodiscard]] std::optional<double> value(const RunSummary& result) const;
};

/// The metrics: shares of the memory by state (less is better, except for live), concurrent requests, speed, latency,
/// preemptions; number of devices, and speed per device.
std::span<const Metric> answer_metrics();
/// The metric of this name. REQUIRES: there is one.
const Metric& answer_metric(std::string_view name);

/// The states of memory that is neither used nor usable, in the order in which ties are decided.
inline constexpr std::array<observe::State, 6> kLossStates{
    observe::State::kInternal, observe::State::kReserved, observe::State::kStranded,
    observe::State::kTail,     observe::State::kHole,     observe::State::kPadding};

/// The state of kLossStates with the largest mean over time. None if nothing is lost, or no time passed.
std::optional<observe::State> largest_loss(const RunSummary& result);

/// True: both variants did the same work, as defined at the top of this file.
bool same_work(const RunSummary& a, const RunSummary& b);

/// True: both had the same requests at the same times, with the same targets.
bool same_load(const RunSummary& a, const RunSummary& b);

/// True: both had the same memory, and everything else was the same except how memory is allocated and which tokens it
/// holds: allocator, token policy, format. Only then more concurrent requests are an advantage: at a given load, a
/// slower server has more of them too.
bool same_memory(const RunSummary& a, const RunSummary& b);

/// True: both had the same number of the same devices, divided in the same way.
bool same_hardware(const RunSummary& a, const RunSummary& b);

/// The variant with which others are compared: the first that completed a request, or else the first that ran.
/// REQUIRES: one ran.
std::size_t baseline_of(const Comparison& comparison);

/// One figure of one variant. `versus` is the variant with which it is compared, and `ratio` is this value divided by
/// that variant's. Both are absent for the baseline itself, if the work is not the same, and if that value is 0.
struct Fact {
  std::size_t variant{0};
  std::string_view metric;
  std::optional<double> value;
  std::optional<std::size_t> versus{};
  std::optional<double> ratio{};
};

/// Facts of all variants that ran, in their order. REQUIRES: one ran.
std::vector<Fact> facts_of(const Comparison& comparison);

/// Figures within this relative distance of the largest pool's figure count as equal to it.
inline constexpr double kKneeShare = 0.05;

/// The pool size beyond which a larger pool does not help, for one figure. It is the smallest pool such that for it and
/// every larger pool that was tried, the work is the same and the figure is within kKneeShare of the largest pool's
/// figure (for preemptions: there are none).
struct Knee {
  std::string_view metric;
  std::vector<std::size_t> variants;  ///< ordered by size of the pool; at least three
  /// Index in `variants`. None: there are preemptions even with the largest pool.
  std::optional<std::size_t> at;
};

/// The path of the pool that is varied, or empty.
std::string_view varied_pool(const Comparison& comparison);
/// Size of a variant's pool in its own unit (bytes, tokens or blocks).
std::int64_t pool_size(const RunSummary& result);

/// The knees of output_tokens_per_s, ttft_p99_s and preemptions, if a pool is varied over at least three values that
/// ran; separate for each combination of the other varied values. A figure that is absent for a variant has no knee.
std::vector<Knee> knees_of(const Comparison& comparison);

}  // namespace kvplan::runs
