#include "simulator/workload/closed_loops.h"

#include <algorithm>
#include <optional>

#include "simulator/core/engine.h"
#include "simulator/workload/workload_builder.h"

namespace kvplan::workload {
namespace {

Error too_late(std::size_t request, const std::string& what) {
  return bad_input("request " + std::to_string(request) + what + " more than 52 days; a run holds 52 days")
      .at_field("workload");
}

/// For each request that waits, the latest recorded end of the requests before it.
class RecordedEnds {
 public:
  RecordedEnds(const traces::Trace& trace, const traces::Turns& turns)
      : latest_ns_(turns.waits_for.size(), INT64_MIN), known_(turns.waits_for.size(), true) {
    for (std::size_t r = 0; r < latest_ns_.size(); ++r) {
      const std::int64_t took = r < trace.e2e_ns.size() ? trace.e2e_ns[r] : -1;
      std::int64_t end = 0;
      const bool has_end = took >= 0 && !__builtin_add_overflow(trace.arrival_ns[r], took, &end);
      for (const std::int32_t follower : turns.followers_of(static_cast<std::int32_t>(r))) {
        const auto f = static_cast<std::size_t>(follower);
        known_[f] = known_[f] && has_end;
        if (has_end) latest_ns_[f] = std::max(latest_ns_[f], end);
      }
    }
  }
  [[nodiscard]] std::optional<std::int64_t> latest_ns(std::size_t request) const {
    if (!known_[request]) return std::nullopt;
    return latest_ns_[request];
  }

 private:
  std::vector<std::int64_t> latest_ns_;
  std::vector<bool> known_;
};

}  // namespace

Result<LoopCounts> close_loops(const traces::Trace& trace, const workload::SessionRule& rule,
                               Fraction rate_scale, core::Workload& workload) {
  using Waits = workload::SessionRule::Waits;
  LoopCounts counts;
  if (rule.waits == Waits::kNone) return counts;
  if (rule.waits == Waits::kClients) {
    std::fill(workload.arrival.begin(), workload.arrival.end(), SimTime{});
    workload.clients = rule.clients;
    workload.client_think = Ticks{rule.client_think_ns * kTicksPerNs};
    counts.clients = rule.clients;
    counts.requests = workload.size();
    return counts;
  }
  const std::int64_t requests = workload.size();
  KVPLAN_TRY(
      workload.turns,
      traces::turns_of(rule.waits == Waits::kStated ? trace.waits : traces::session_waits(trace, requests),
                       requests));
  const traces::Turns& turns = workload.turns;
  if (!turns.present()) return counts;

  const RecordedEnds ends(trace, turns);
  const std::vector<std::int64_t> starts_ns = traces::group_starts_ns(trace, turns);
  const auto count = static_cast<std::size_t>(requests);
  const std::int64_t first_ns = *std::min_element(
      trace.arrival_ns.begin(), trace.arrival_ns.begin() + static_cast<std::ptrdiff_t>(count));
  // Arrival by its distance to the start of its group; nullopt if that is too long.
  const auto by_distance = [&](std::size_t r) -> std::optional<SimTime> {
    const std::int64_t start_ns = starts_ns[static_cast<std::size_t>(turns.group[r])];
    const Wide start =
        (Wide{start_ns} - first_ns) * kTicksPerNs * rate_scale.denominator / rate_scale.numerator;
    const Wide ticks = start + (Wide{trace.arrival_ns[r]} - start_ns) * kTicksPerNs;
    if (ticks > core::kLastTick) return std::nullopt;
    return SimTime{Ticks{static_cast<std::int64_t>(ticks)}};
  };
  for (std::size_t r = 0; r < count; ++r) {
    if (turns.waits_for[r] > 0) continue;
    const auto arrival = by_distance(r);  // a request alone in its group keeps its own time
    if (!arrival) return too_late(r, " arrives after the first by");
    workload.arrival[r] = *arrival;
  }
  sort_by_arrival(workload);

  workload.think.assign(count, Ticks{0});
  for (std::size_t r = 0; r < count; ++r) {
    if (turns.waits_for[r] == 0) continue;
    ++counts.waiting;
    std::int64_t pause_ns = r < trace.think_ns.size() ? trace.think_ns[r] : -1;
    if (pause_ns >= 0) {
      ++counts.stated;
    } else if (const auto end_ns = ends.latest_ns(r)) {
      ++counts.measured;
      // Times are up to 292 years, positive or negative: the difference of two may not fit.
      pause_ns = static_cast<std::int64_t>(
          std::clamp<Wide>(Wide{trace.arrival_ns[r]} - *end_ns, 0, Wide{INT64_MAX}));
    } else {
      ++counts.unknown;
      const auto arrival = by_distance(r);
      if (!arrival) return too_late(r, " arrives after the first by");
      workload.arrival[r] = *arrival;
      continue;
    }
    const Wide ticks =
        (Wide{std::min(pause_ns, rule.most_think_ns)} * kTicksPerNs * rule.think_scale_2_20) >> 20;
    if (ticks > core::kLastTick) return too_late(r, " arrives after a pause of");
    workload.think[r] = Ticks{static_cast<std::int64_t>(ticks)};
    workload.arrival[r] = SimTime{};
  }
  return counts;
}

std::vector<std::string> describe(const LoopCounts& counts) {
  std::vector<std::string> out;
  if (counts.clients > 0)
    out.push_back(std::to_string(counts.clients) + " clients send " + std::to_string(counts.requests) +
                  " requests, in the order of the trace: each sends the next one when its last one has ended "
                  "(workload.sessions). Recorded arrival times are not used.");
  if (counts.waiting == 0) return out;
  out.push_back(std::to_string(counts.waiting) +
                " requests arrive when the turns before them have ended in the run (workload.sessions); a "
                "rejected turn counts as ended.");
  if (counts.measured > 0)
    out.push_back(
        "The pauses before " + std::to_string(counts.measured) +
        " of these requests follow from the trace: arrival minus the recorded end of the turns before.");
  if (counts.unknown > 0)
    out.push_back(
        "Before " + std::to_string(counts.unknown) +
        " of these requests, no recorded end of the previous turn exists. They arrive at their recorded "
        "distance to the start of the session, but not before the previous turns have ended.");
  return out;
}

}  // namespace kvplan::workload
