// How sure an answer is: other traffic of the same kind, and other resources.
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/base/check.h"
#include "simulator/planner/around.h"
#include "simulator/planner/sure.h"
#include "traces/edit/edits.h"

namespace kvplan::planner {

std::optional<Interval> interval_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  constexpr double kTail = (1 - kLevel) / 2;
  // Ranks of the n + 1 gaps between the values, so that both ends are as far from the middle.
  const auto outside = static_cast<std::size_t>(kTail * static_cast<double>(n + 1) + 1e-9);
  const std::size_t below = outside > 0 ? outside - 1 : 0;
  const double low = values[below], high = values[n - 1 - below], middle = values[n / 2];
  // Each block is drawn from 13, and 13 values have 12/13 of the variance of what they are drawn from.
  static const double kWider = std::sqrt(13.0 / 12.0);
  if (!std::isfinite(low) || !std::isfinite(high)) return Interval{low, high};
  return Interval{middle - kWider * (middle - low), middle + kWider * (high - middle)};
}

namespace {

/// Resamples that run side by side: what bounds memory. The result does not depend on it.
constexpr std::int64_t kAtOnce = 8;

std::int64_t resamples_of(const Answer& answer) {
  constexpr std::int64_t kUsual = 100, kLeast = 20, kRequests = 20'000;
  if (answer.request.resamples) return *answer.request.resamples;
  return std::clamp(kUsual * kRequests / std::max<std::int64_t>(1, answer.prepared.trace->size()), kLeast,
                    kUsual);
}

/// The values of one deployment over the resamples.
struct Gathered {
  std::vector<std::vector<double>> targets;
  std::vector<double> met;
  std::int64_t runs{0}, meets{0};

  void add(const CaseOutcome& outcome, const std::vector<Target>& limits) {
    if (!outcome.error.empty()) return;
    ++runs;
    meets += verdict_of(outcome, limits).meets ? 1 : 0;
    targets.resize(limits.size());
    for (std::size_t i = 0; i < limits.size(); ++i)
      if (outcome.values[i]) targets[i].push_back(*outcome.values[i]);
    if (outcome.met) met.push_back(*outcome.met);
  }
  [[nodiscard]] std::optional<double> meets_share() const {
    if (runs == 0) return std::nullopt;
    return static_cast<double>(meets) / static_cast<double>(runs);
  }
};

}  // namespace

Result<std::optional<TrafficDoubt>> traffic_doubt_of(const Answer& answer, const Option* fewer,
                                                     const Option* more) {
  const std::int64_t resamples = resamples_of(answer);
  if (resamples == 0) return std::optional<TrafficDoubt>();
  const std::vector<Target>& targets = answer.prepared.targets;
  std::vector<std::vector<runs::Setting>> deployments{answer.settings()};
  for (const Option* const other : {fewer, more})
    if (other != nullptr) deployments.push_back(other->settings);
  std::vector<Gathered> gathered(deployments.size());
  for (std::int64_t done = 0; done < resamples; done += kAtOnce) {
    std::vector<Job> jobs;
    for (std::int64_t i = done; i < std::min(resamples, done + kAtOnce); ++i) {
      auto traffic = traces::resampled(*answer.prepared.trace, static_cast<std::uint64_t>(i) + 1);
      if (!traffic.ok()) continue;  // nothing was drawn
      const auto trace = std::make_shared<const traces::Trace>(std::move(traffic).value());
      for (const auto& settings : deployments) jobs.push_back({settings, trace});
    }
    KVPLAN_TRY(const auto outcomes, answer.trials.outcomes(jobs, targets));
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      gathered[i % deployments.size()].add(outcomes[i], targets);
  }
  if (gathered.front().runs == 0) return std::optional<TrafficDoubt>();
  TrafficDoubt out;
  out.resamples = gathered.front().runs;
  for (std::vector<double>& values : gathered.front().targets)
    out.targets.push_back(interval_of(std::move(values)));
  out.met = interval_of(gathered.front().met);
  out.answer_meets = gathered.front().meets_share().value_or(0);
  if (fewer != nullptr) out.fewer_meets = gathered[1].meets_share();
  if (more != nullptr) out.more_meets = gathered.back().meets_share();
  return std::optional(out);
}

Result<std::vector<Sensitivity>> sensitivity_of(const Answer& answer, const Option& best,
                                                const Option* fewer) {
  constexpr double kLess = 0.9, kMore = 1.1;
  struct Pair {
    std::string what, change;
    std::vector<runs::Setting> less, more;
  };
  std::vector<Pair> pairs;
  const std::vector<ResourceChange> less = resource_changes(answer, kLess);
  for (const ResourceChange& more : resource_changes(answer, kMore)) {
    const auto same = std::find_if(less.begin(), less.end(),
                                   [&](const ResourceChange& each) { return each.what == more.what; });
    if (same != less.end())
      pairs.push_back({more.what, "10 % less, 10 % more", same->settings, more.settings});
  }
  if (best.pool_low_tokens && best.pool_high_tokens && best.pool_tokens > 0) {
    const auto bytes = [&](std::int64_t tokens) {
      const double all = static_cast<double>(answer.result->replicas.front().pool.capacity_bytes);
      return planned("memory.pool_bytes",
                     std::to_string(static_cast<std::int64_t>(all * static_cast<double>(tokens) /
                                                              static_cast<double>(best.pool_tokens))));
    };
    pairs.push_back({"size of the pool",
                     "the ends of its interval",
                     {bytes(*best.pool_low_tokens)},
                     {bytes(*best.pool_high_tokens)}});
  }
  std::vector<Job> jobs;
  const auto add = [&](std::vector<runs::Setting> settings, const std::vector<runs::Setting>& change) {
    settings.insert(settings.end(), change.begin(), change.end());
    jobs.push_back({std::move(settings), answer.prepared.trace});
  };
  const std::size_t each = fewer != nullptr ? 3 : 2;
  for (const Pair& pair : pairs) {
    add(answer.settings(), pair.less);
    add(answer.settings(), pair.more);
    if (fewer != nullptr) add(fewer->settings, pair.more);
  }
  const std::vector<Target>& targets = answer.prepared.targets;
  KVPLAN_TRY(const auto outcomes, answer.trials.outcomes(jobs, targets));
  std::vector<Sensitivity> out;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Verdict low = verdict_of(outcomes[each * i], targets);
    const Verdict high = verdict_of(outcomes[each * i + 1], targets);
    Sensitivity row{pairs[i].what, pairs[i].change, low.tightness, high.tightness, !low.meets, false};
    // The sequence limit of a smaller deployment that cannot run says nothing.
    if (!low.ran || !high.ran) continue;
    if (fewer != nullptr) row.more_flips = verdict_of(outcomes[each * i + 2], targets).meets;
    const bool changes = std::abs(row.less - row.more) > 0.001 || row.less_flips || row.more_flips;
    if (changes) out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(), [](const Sensitivity& a, const Sensitivity& b) {
    return std::abs(a.less - a.more) > std::abs(b.less - b.more);
  });
  return out;
}

}  // namespace kvplan::planner
