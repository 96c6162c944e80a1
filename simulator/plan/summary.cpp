#include "simulator/plan/summary.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "simulator/base/check.h"

namespace kvplan::plan {
namespace {

using observe::kStates;
using observe::RequestRecord;
using observe::RequestStatus;

/// Percentiles by nearest rank (the least value that at least p percent of all are not above), asked for in
/// ascending order: only what is asked for is put in its place, and each search goes on behind the one
/// before.
class Percentiles {
 public:
  explicit Percentiles(std::vector<double>& values) : values_(values), from_(values.begin()) {}
  double next(std::int64_t percent) {
    const auto n = static_cast<std::int64_t>(values_.size());
    const std::int64_t rank = std::max<std::int64_t>(ceil_div(percent * n, 100), 1);
    const auto place = values_.begin() + (rank - 1);
    std::nth_element(from_, place, values_.end());
    from_ = place;
    return *place;
  }

 private:
  std::vector<double>& values_;
  std::vector<double>::iterator from_;  // nothing behind it is less than anything before it
};

std::optional<LatencySummary> summarize(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  LatencySummary s;
  s.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  Percentiles percentiles(values);
  s.p50 = percentiles.next(50);
  s.p90 = percentiles.next(90);
  s.p95 = percentiles.next(95);
  s.p99 = percentiles.next(99);
  s.max = percentiles.next(100);
  return s;
}

}  // namespace

void summarize_requests(const core::Workload& workload, std::vector<RequestRecord> records,
                        const Scenario& scenario, RunResult& result) {
  std::vector<double> ttft, tpot, e2e, queue;
  std::int64_t met = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RequestRecord& r = records[i];
    if (r.status == RequestStatus::kNotArrived) continue;
    ++result.arrived;
    if (r.scheduled)
      result.largest_request_tokens =
          std::max(result.largest_request_tokens, std::int64_t{workload.input[i]} + workload.output[i]);
    result.preempted += r.preemptions > 0 ? 1 : 0;
    result.preemptions += r.preemptions;
    result.prefix_hit_tokens += r.prefix_hit_tokens;
    result.rehit_tokens += r.rehit_tokens;
    if (r.status == RequestStatus::kRejected) ++result.rejected;
    if (r.status == RequestStatus::kUnfinished) ++result.unfinished;
    if (r.status != RequestStatus::kCompleted) continue;
    ++result.completed;
    result.input_tokens += workload.input[i];
    result.output_tokens += workload.output[i];
    result.recomputed_tokens +=
        r.computed_tokens - (workload.final_tokens(static_cast<RequestId>(i)) - r.prefix_hit_tokens);
    const double first = seconds(r.first_token - r.arrival);
    const double last = seconds(r.finish - r.arrival);
    queue.push_back(seconds(r.first_scheduled - r.arrival));
    ttft.push_back(first);
    e2e.push_back(last);
    double per_token = 0;
    if (workload.output[i] > 1) {
      per_token = seconds(r.finish - r.first_token) / static_cast<double>(workload.output[i] - 1);
      tpot.push_back(per_token);
    }
    const bool good = (!scenario.target_ttft_s || first <= *scenario.target_ttft_s) &&
                      (!scenario.target_tpot_s || per_token <= *scenario.target_tpot_s) &&
                      (!scenario.target_e2e_s || last <= *scenario.target_e2e_s);
    met += good ? 1 : 0;
  }
  result.ttft = summarize(std::move(ttft));
  result.tpot = summarize(std::move(tpot));
  result.e2e = summarize(std::move(e2e));
  result.queue = summarize(std::move(queue));
  if ((scenario.target_ttft_s || scenario.target_tpot_s || scenario.target_e2e_s) && result.arrived > 0) {
    // Of all that arrived: a request that was rejected met nothing.
    result.slo_met_fraction = static_cast<double>(met) / static_cast<double>(result.arrived);
    result.goodput_per_s = static_cast<double>(met);  // divided by the makespan once that is known
  }
  result.records = std::move(records);
}

MemorySummary summarize_memory(const core::MemoryLayout& layout, const MemoryCounts& counts, Ticks makespan) {
  MemorySummary m;
  m.capacity_bytes = layout.capacity_bytes;
  const auto padding = static_cast<std::size_t>(observe::State::kPadding);
  for (std::size_t s = 0; s < kStates; ++s) {
    // Bytes x ticks pass 2^127 only beyond any pool and time that are accepted.
    Wide byte_ticks = counts.cell_ticks[s] * layout.count_bytes();
    if (s == padding) byte_ticks += Wide{layout.padding_bytes()} * makespan.count;
    if (makespan.count > 0) {
      m.mean_bytes[s] = static_cast<double>(byte_ticks) / static_cast<double>(makespan.count);
      m.mean_fraction[s] = static_cast<double>(byte_ticks) /
                           (static_cast<double>(makespan.count) * static_cast<double>(layout.capacity_bytes));
    }
    m.peak_bytes[s] =
        counts.peak_cells[s] * layout.count_bytes() + (s == padding ? layout.padding_bytes() : 0);
  }
  for (std::size_t i = 0; i < observe::kOverlays; ++i) {
    const Wide byte_ticks = counts.overlay_ticks[i] * layout.count_bytes();
    if (makespan.count > 0)
      m.mean_overlay_bytes[i] = static_cast<double>(byte_ticks) / static_cast<double>(makespan.count);
    m.peak_overlay_bytes[i] = counts.peak_overlays[i] * layout.count_bytes();
  }
  const std::vector<model::LayerKind> kinds = model::kinds_of(layout.groups);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    KindMemory& kind = m.kinds.emplace_back();
    kind.kind = kinds[k];
    for (std::size_t s = 0; s < kStates; ++s) {
      if (makespan.count > 0)
        kind.mean_bytes[s] = static_cast<double>(counts.kind_ticks[k][s] * layout.count_bytes()) /
                             static_cast<double>(makespan.count);
      kind.peak_bytes[s] = counts.peak_kinds[k][s] * layout.count_bytes();
    }
  }
  m.timed = makespan.count > 0;
  m.peak_time_s = seconds(counts.peak_time.since_start);
  return m;
}

std::optional<double> replicated_mean_bytes(const RunResult& r) {
  if (!r.memory || !r.memory->timed) return std::nullopt;
  const double tokens = r.memory->mean_bytes[index(observe::State::kLive)] /
                        static_cast<double>(r.ranks.token_bytes - r.ranks.scale_bytes);
  return tokens * static_cast<double>(r.ranks.replicated_token_bytes);
}

std::optional<std::int64_t> replicated_peak_bytes(const RunResult& r) {
  if (!r.memory) return std::nullopt;
  const Wide live = r.memory->peak_bytes[index(observe::State::kLive)];
  return static_cast<std::int64_t>(live * r.ranks.replicated_token_bytes /
                                   (r.ranks.token_bytes - r.ranks.scale_bytes));
}

void sum_replicas(RunResult& result) {
  const bool timed = result.makespan.count > 0;
  if (timed) {
    const double span_s = seconds(result.makespan);
    result.requests_per_s = static_cast<double>(result.completed) / span_s;
    result.output_tokens_per_s = static_cast<double>(result.output_tokens) / span_s;
    if (result.goodput_per_s) *result.goodput_per_s /= span_s;
  } else {
    result.goodput_per_s.reset();
  }
  MemorySummary sum;
  sum.timed = timed;
  double running = 0;
  for (const ReplicaResult& r : result.replicas) {
    if (!r.memory) return;  // nothing ever ran
    sum.capacity_bytes += r.memory->capacity_bytes;
    sum.peak_time_s = r.memory->peak_time_s;
    running += r.mean_running.value_or(0);
    for (std::size_t s = 0; s < kStates; ++s) {
      sum.mean_bytes[s] += r.memory->mean_bytes[s];
      sum.peak_bytes[s] += r.memory->peak_bytes[s];
      sum.mean_fraction[s] += r.memory->mean_fraction[s] / static_cast<double>(result.replicas.size());
    }
    for (std::size_t i = 0; i < observe::kOverlays; ++i) {
      sum.mean_overlay_bytes[i] += r.memory->mean_overlay_bytes[i];
      sum.peak_overlay_bytes[i] += r.memory->peak_overlay_bytes[i];
    }
    sum.kinds.resize(r.memory->kinds.size());
    for (std::size_t k = 0; k < sum.kinds.size(); ++k) {
      sum.kinds[k].kind = r.memory->kinds[k].kind;
      for (std::size_t s = 0; s < kStates; ++s) {
        sum.kinds[k].mean_bytes[s] += r.memory->kinds[k].mean_bytes[s];
        sum.kinds[k].peak_bytes[s] += r.memory->kinds[k].peak_bytes[s];
      }
    }
  }
  if (timed) result.mean_running = running;
  result.memory = sum;
}

void ChangeLog::on_pass(SimTime time, const observe::StateCounts& cells, std::int64_t running) {
  using observe::State;
  const std::int64_t available =
      cells[index(State::kCached)] + cells[index(State::kStranded)] + cells[index(State::kFree)];
  if (!changes_.empty() && changes_.back().available == available && changes_.back().running == running)
    return;
  changes_.push_back({time, available, running});
}

void ChangeLog::on_span(const observe::LedgerSpan& span) {
  const auto hole = index(observe::State::kHole);
  if (span.running == 0) on_pass(span.begin, span.cells, 0);  // it fell idle: what ran has ended
  if (holes_.empty() && span.cells[hole] == 0 && span.growth[hole] == 0) return;
  holes_.push_back({span.begin, span.series, span.cells[hole], span.growth[hole]});
}

void ChangeLog::on_end(SimTime time, const observe::StateCounts& cells) {
  on_pass(time, cells, 0);
  if (!holes_.empty()) holes_.push_back({time, {}, 0, 0});
}

std::int64_t most_holes_at_once(const std::vector<const ChangeLog*>& logs) {
  /// Where a replica is: step `step` of its span `span` begins at `time`.
  struct Next {
    SimTime time;
    std::size_t log;
    std::size_t span;
    std::int64_t step;
    bool operator>(const Next& other) const {
      return time != other.time ? time > other.time : log > other.log;
    }
  };
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  for (std::size_t i = 0; i < logs.size(); ++i)
    if (!logs[i]->holes().empty()) queue.push({logs[i]->holes().front().begin, i, 0, 0});
  std::vector<std::int64_t> now_in(logs.size(), 0);
  std::int64_t sum = 0;
  std::int64_t most = 0;
  while (!queue.empty()) {
    const SimTime now = queue.top().time;
    while (!queue.empty() && queue.top().time == now) {
      Next next = queue.top();
      queue.pop();
      const auto& spans = logs[next.log]->holes();
      const ChangeLog::Holes& span = spans[next.span];
      const std::int64_t cells = span.cells + next.step * span.growth;
      sum += cells - now_in[next.log];
      now_in[next.log] = cells;
      // Only steps that change something matter; a span without growth is one.
      if (span.growth != 0 && next.step + 1 < span.series.steps) {
        ++next.step;
        next.time = span.begin + Ticks{static_cast<std::int64_t>(span.series.span(next.step))};
        queue.push(next);
      } else if (next.span + 1 < spans.size()) {
        queue.push({spans[next.span + 1].begin, next.log, next.span + 1, 0});
      }
    }
    most = std::max(most, sum);
  }
  return most;
}

void PeakFinder::find() {
  struct Next {
    SimTime time;
    std::size_t log;
    std::size_t at;
    bool operator>(const Next& other) const {
      return time != other.time ? time > other.time : log > other.log;
    }
  };
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  // A replica that has not run yet has all its memory available; all replicas are alike, so the difference to
  // that state is what is summed.
  std::vector<std::int64_t> taken(logs_.size(), 0), running(logs_.size(), 0);
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    if (!logs_[i]->empty()) queue.push({logs_[i]->front().time, i, 0});
  }
  std::int64_t most_taken = INT64_MIN;
  std::int64_t sum_taken = 0;
  std::int64_t sum_running = 0;
  while (!queue.empty()) {
    const SimTime now = queue.top().time;
    while (!queue.empty() && queue.top().time == now) {
      const Next next = queue.top();
      queue.pop();
      const auto& change = (*logs_[next.log])[next.at];
      sum_taken += (whole_[next.log] - change.available) - taken[next.log];
      taken[next.log] = whole_[next.log] - change.available;
      sum_running += change.running - running[next.log];
      running[next.log] = change.running;
      if (next.at + 1 < logs_[next.log]->size())
        queue.push({(*logs_[next.log])[next.at + 1].time, next.log, next.at + 1});
    }
    max_running_ = std::max(max_running_, sum_running);
    if (sum_taken > most_taken) {
      most_taken = sum_taken;
      peak_time_ = now;
    }
  }
}

void StateAt::on_span(const observe::LedgerSpan& span) {
  if (span.begin > moment_) return;
  const std::int64_t step = core::step_at(span.series, (moment_ - span.begin).count);
  for (std::size_t s = 0; s < kStates; ++s) cells_[s] = span.cells[s] + step * span.growth[s];
}

}  // namespace kvplan::plan
