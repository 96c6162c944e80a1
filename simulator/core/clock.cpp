#include "simulator/core/clock.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/base/threads.h"
#include "simulator/core/arrivals.h"
#include "simulator/core/least_first.h"

namespace kvplan::core {
namespace {

bool stop_asked(const RunControl* control) {
  return control != nullptr && control->wants_stop();
}

class Fleet {
 public:
  explicit Fleet(const FleetRun& run) : run_(run), arrivals_(*run.workload, run.workload->order) {}

  Status run() {
    while (true) {
      if (stop_asked(run_.control)) return interrupted_error();
      const SimTime now = std::min(arrivals_.next_time(), next_end());
      if (now == kNever) break;
      round_ = now == now_ ? round_ + 1 : 0;
      now_ = now;
      if (run_.told && untold_ >= kPassesToldAtOnce) tell(now);
      if (now.since_start.count > kLastTick) return time_is_up();
      end_steps(now);
      deliver(now);
      for (const RequestId r : ended_) arrivals_.ended(r, now);
      deliver(now);
      KVPLAN_TRY_DO(begin_steps(now));
    }
    for (const auto& replica : run_.replicas) replica->end();
    return Done{};
  }

 private:
  /// End of a replica's steps. Out of date if the replica's steps end at another time by now.
  struct End {
    SimTime time;
    std::int32_t replica;
    [[nodiscard]] QueueKey key() const { return queue_key(time.since_start.count, replica); }
  };

  /// Limits the number of reports that are collected, whatever the number of replicas.
  static constexpr std::int64_t kPassesToldAtOnce = std::int64_t{1} << 15;

  void tell(SimTime now) {
    untold_ = 0;
    SimTime until = now;
    for (const auto& replica : run_.replicas) until = std::min(until, replica->observed_until());
    run_.told(until);
  }

  Replica& at(std::int64_t replica) { return *run_.replicas[static_cast<std::size_t>(replica)]; }

  SimTime next_end() {
    while (!ends_.empty() && at(ends_.least().replica).step_end() != ends_.least().time) ends_.take();
    return ends_.empty() ? kNever : ends_.least().time;
  }

  void end_steps(SimTime now) {
    ended_.clear();
    while (next_end() == now) {
      const std::int32_t replica = ends_.take().replica;
      at(replica).end_steps(ended_);
      run_.router->changed(replica, FleetView(run_.replicas, now));
      due_.push_back(replica);
    }
  }

  void deliver(SimTime now) {
    while (arrivals_.next_time() <= now) {
      const RequestId r = arrivals_.take().request;
      const FleetView view(run_.replicas, now);
      const auto replica = static_cast<std::int32_t>(run_.router->route(r, view));
      KVPLAN_CHECK(replica >= 0 && replica < view.replicas(), replica);
      (*run_.replica_of)[index(r)] = replica;
      if (run_.routed) run_.routed(round_, r);
      const SimTime end_before = at(replica).step_end();
      if (!at(replica).deliver(r, now)) arrivals_.ended(r, now);
      run_.router->changed(replica, view);
      if (end_before == kNever) {
        due_.push_back(replica);
      } else if (at(replica).step_end() == now) {
        end_cut_steps(replica, now);
      } else if (at(replica).step_end() != end_before) {
        ends_.put({at(replica).step_end(), replica});
      }
    }
  }

  /// The arrival falls on the end of a step in the middle of the planned steps: no request finishes with it.
  void end_cut_steps(std::int32_t replica, SimTime now) {
    const std::size_t before = ended_.size();
    at(replica).end_steps(ended_);
    KVPLAN_CHECK(ended_.size() == before, replica);
    run_.router->changed(replica, FleetView(run_.replicas, now));
    due_.push_back(replica);
  }

  Status begin_steps(SimTime now) {
    std::sort(due_.begin(), due_.end());
    due_.erase(std::unique(due_.begin(), due_.end()), due_.end());
    for (const std::int32_t replica : due_) {
      if (!at(replica).wants_pass()) continue;
      KVPLAN_TRY_DO(at(replica).pass(now));
      ++untold_;
      run_.router->changed(replica, FleetView(run_.replicas, now));
      if (at(replica).step_end() != kNever) ends_.put({at(replica).step_end(), replica});
    }
    due_.clear();
    return Done{};
  }

  const FleetRun& run_;
  Arrivals arrivals_;
  LeastFirst<End> ends_;
  std::int64_t untold_{0};  // number of scheduler steps
  SimTime now_{kNever};
  std::int64_t round_{0};          // round at this tick
  std::vector<RequestId> ended_;   // requests that ended at this moment
  std::vector<std::int32_t> due_;  // replicas that may need a scheduler step
};

}  // namespace

void Solo::deliver_until(SimTime time) {
  while (arrivals_.next_time() <= time) {
    const auto [at, request] = arrivals_.take();
    if (!replica_.deliver(request, at)) arrivals_.ended(request, at);
  }
}

Status Solo::advance(SimTime until) {
  while (true) {
    if (stop_asked(control_)) return interrupted_error();
    if (replica_.step_end() == kNever) {
      if (!replica_.wants_pass()) {
        if (arrivals_.next_time() >= until) return Done{};
        now_ = arrivals_.next_time();
        if (now_.since_start.count > kLastTick) return time_is_up();
      }
      deliver_until(now_);
      if (!replica_.wants_pass()) continue;  // the requests were rejected
      if (now_ >= until) return Done{};
      KVPLAN_TRY_DO(replica_.pass(now_));
      if (replica_.step_end() == kNever) continue;  // nothing is left to run
    }
    SimTime end = replica_.step_end();
    while (arrivals_.next_time() <= end && arrivals_.next_time() < until) {
      deliver_until(arrivals_.next_time());
      end = replica_.step_end();  // an arrival may bring it forward
    }
    if (end >= until) return Done{};
    now_ = end;
    ended_.clear();
    replica_.end_steps(ended_);
    for (const RequestId r : ended_) arrivals_.ended(r, now_);
  }
}

Status run_alone(Replica& replica, const Workload& workload, std::span<const RequestId> requests,
                 RunControl* control) {
  Solo solo(replica, workload, requests, control);
  KVPLAN_TRY_DO(solo.advance(kNever));
  replica.end();
  return Done{};
}

Status run_apart(std::span<const std::unique_ptr<Replica>> replicas, const Workload& workload,
                 std::span<const std::vector<RequestId>> requests, RunControl* control, const ToldUntil& told,
                 int threads) {
  std::vector<Solo> solos;
  for (std::size_t i = 0; i < replicas.size(); ++i)
    solos.emplace_back(*replicas[i], workload, requests[i], control);
  std::vector<Status> advanced(solos.size(), Done{});
  // All advance through one window of time after the other, as wide as the number of reports to merge stays small.
  constexpr std::int64_t kFewToldAtOnce = std::int64_t{1} << 14;
  std::int64_t width = told ? std::int64_t{1} << 40 : INT64_MAX;  // at first 1.1 s
  for (SimTime until{}; until != kNever;) {
    const SimTime begin = until;
    const bool last = width > kLastTick - until.since_start.count;
    until = last ? kNever : until + Ticks{width};
    SimTime all_told = until;
    bool done = true;
    on_threads(threads, solos.size(), [&](std::size_t i) { advanced[i] = solos[i].advance(until); });
    for (std::size_t i = 0; i < solos.size(); ++i) {
      KVPLAN_TRY_DO(std::move(advanced[i]));
      all_told = std::min(all_told, replicas[i]->observed_until());
      done = done && solos[i].done();
    }
    if (done) until = kNever;
    const std::int64_t waited = told ? told(all_told) : 0;
    if (waited < kFewToldAtOnce) width = width > kLastTick / 2 ? kLastTick : 2 * width;
    // A replica that lags behind earlier windows, in the middle of a long decode run, would delay the others however
    // narrow the next window is.
    if (waited > 4 * kFewToldAtOnce && all_told >= begin) width = std::max<std::int64_t>(width / 2, 1);
  }
  for (const auto& replica : replicas) replica->end();
  return Done{};
}

Status run_together(const FleetRun& run) {
  return Fleet(run).run();
}

}  // namespace kvplan::core
