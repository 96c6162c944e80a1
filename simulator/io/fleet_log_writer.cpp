#include "simulator/io/fleet_log_writer.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace kvplan::io {

namespace log = event_log;

namespace {

/// The order of events at one tick. The order starts over if a step that takes no ticks has begun.
enum Phase : std::int32_t { kEnds, kArrivals, kPasses };

/// A tick, and the number of times that the order of phases had started over at it before.
struct Moment {
  std::int64_t time{0}, round{0};
  friend auto operator<=>(const Moment&, const Moment&) = default;
};

/// When the last of these steps, which begin at `begin`, ends.
Moment end_of(const Moment& begin, const log::StepRun& run) {
  const std::int64_t time = run.time + static_cast<std::int64_t>(run.span());
  if (time == begin.time) return {time, begin.round + run.steps};
  const bool takes_none = run.first + run.growth * (run.steps - 1) == 0;
  return {time, takes_none ? 1 : 0};
}

/// A time after all others.
constexpr std::int64_t kAtTheEnd = INT64_MAX - 1;

}  // namespace

/// A record with its position in the log. Records of one replica with the same position keep their order.
struct FleetLogWriter::Placed {
  Moment moment;
  Phase phase;
  std::int64_t order;  ///< for arrivals, their order; else the replica
  log::Record record;

  [[nodiscard]] auto key() const { return std::tie(moment, phase, order); }
};

class FleetLogWriter::Part final : public EventRecorder {
 public:
  Part(FleetLogWriter& writer, std::int32_t replica, TotalsNow totals)
      : EventRecorder(writer.options_, std::move(totals)), writer_(writer), replica_(replica) {}

  /// All records before this time have been added.
  [[nodiscard]] std::int64_t observed_until() const { return open_since(); }

  /// Moves the records before `until` to `out`.
  void take(std::int64_t until, std::vector<Placed>& out) {
    for (std::vector<Placed>* from : {&arrivals_, &others_}) {
      const auto end = std::find_if(from->begin(), from->end(),
                                    [&](const Placed& placed) { return placed.moment.time >= until; });
      std::move(from->begin(), end, std::back_inserter(out));
      from->erase(from->begin(), end);
    }
  }

 private:
  void put(log::Record record) override {
    record.replica = replica_;
    if (const auto* arrival = std::get_if<log::Arrival>(&record.fact)) {
      const Route route = writer_.take_route(arrival->request);
      arrived_ = {arrival->time, route.round};
      arrivals_.push_back({arrived_, kArrivals, route.order, std::move(record)});
    } else if (std::holds_alternative<log::PrefixIds>(record.fact)) {
      const Placed& its = arrivals_.back();
      arrivals_.push_back({its.moment, kArrivals, its.order, std::move(record)});
    } else {
      find_place(record.fact);
      others_.push_back({at_, phase_, replica_, std::move(record)});
    }
  }

  /// Finds the record's position: a fact that is neither of these kinds belongs to the one before it.
  void find_place(const log::Fact& fact) {
    if (const auto* pass = std::get_if<log::PassBegin>(&fact)) {
      // Its position is that of the event that made the step due: the end of a step, or an arrival.
      if (at_.time != pass->time) at_ = {pass->time, 0};
      if (arrived_.time == pass->time) at_.round = std::max(at_.round, arrived_.round);
      steps_end_ = at_;
      phase_ = kPasses;
    } else if (const auto* run = std::get_if<log::StepRun>(&fact)) {
      at_ = steps_end_;
      phase_ = kPasses;
      steps_end_ = end_of(at_, *run);
    } else if (std::holds_alternative<log::StepEnd>(fact)) {
      at_ = steps_end_;
      phase_ = kEnds;
    } else if (std::holds_alternative<log::End>(fact)) {
      at_ = {kAtTheEnd, 0};
      phase_ = kPasses;
    }
  }

  FleetLogWriter& writer_;
  std::int32_t replica_;
  Moment at_{};         // of the latest scheduler step, or the end of a step
  Moment steps_end_{};  // of the steps reported since that scheduler step
  Moment arrived_{-1, 0};
  Phase phase_{kPasses};
  std::vector<Placed> arrivals_, others_;  // each in order
};

FleetLogWriter::FleetLogWriter() = default;
FleetLogWriter::~FleetLogWriter() = default;

void FleetLogWriter::begin(std::unique_ptr<EventLogFile> file, const EventLogOptions& options) {
  file_ = std::move(file);
  options_ = options;
}

core::Observer* FleetLogWriter::add_replica(EventRecorder::TotalsNow totals) {
  parts_.push_back(
      std::make_unique<Part>(*this, static_cast<std::int32_t>(parts_.size()), std::move(totals)));
  return parts_.back().get();
}

void FleetLogWriter::on_routed(std::int64_t round, RequestId request) {
  routes_[request] = {round, routed_++};
}

/// If no route was reported, requests come in their order.
FleetLogWriter::Route FleetLogWriter::take_route(RequestId request) {
  const auto found = routes_.find(request);
  if (found == routes_.end()) return {0, number(request)};
  const Route route = found->second;
  routes_.erase(found);
  return route;
}

runs::FleetWatcher::Taken FleetLogWriter::on_told(SimTime until, observe::JointStates& joint) {
  std::int64_t end = until.since_start.count;
  for (const auto& part : parts_) end = std::min(end, part->observed_until());
  std::vector<Placed> placed;
  for (const auto& part : parts_) part->take(end, placed);
  std::vector<std::size_t> order(placed.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return placed[a].key() < placed[b].key(); });
  for (const std::size_t i : order) add(placed[i], joint);
  end_tick(joint);  // everything in it is before `end`
  return {SimTime{Ticks{end}}, static_cast<std::int64_t>(placed.size())};
}

void FleetLogWriter::add(const Placed& placed, observe::JointStates& joint) {
  if (placed.moment.time != tick_) end_tick(joint);
  if (const auto* end = std::get_if<log::End>(&placed.record.fact)) {
    last_end_ = std::max(last_end_, end->time);
  } else {
    tick_ = placed.moment.time;
    const bool pass = std::holds_alternative<log::PassEnd>(placed.record.fact);
    counts_ = counts_ || pass || std::holds_alternative<log::StepEnd>(placed.record.fact);
    ran_ = ran_ || (pass && placed.record.claims.running > 0);
  }
  file_->add(placed.record);
}

void FleetLogWriter::end_tick(observe::JointStates& joint) {
  if (!std::exchange(counts_, false)) return;
  const observe::JointStates::Sum sum = joint.sum_at(SimTime{Ticks{tick_}});
  log::Claims claims;
  claims.has_totals = true;
  claims.totals = bytes_of(sum.cells);
  claims.running = sum.running;
  file_->add({log::TickEnd{tick_}, std::move(claims)});
}

/// Totals of all replicas, from their counts.
log::Totals FleetLogWriter::bytes_of(const observe::StateCounts& cells) const {
  log::Totals bytes = cells;
  for (std::int64_t& state : bytes) state *= options_.layout.count_bytes();
  bytes[observe::index(observe::State::kPadding)] += options_.replicas * options_.layout.padding_bytes();
  return bytes;
}

void FleetLogWriter::on_end(const observe::JointStates& joint) {
  log::Claims claims;
  if (ran_) {
    observe::StateCounts cells{};
    for (std::int64_t i = 0; i < options_.replicas; ++i)
      for (std::size_t s = 0; s < observe::kStates; ++s) cells[s] += joint.peak_cells(i)[s];
    claims.has_joint_peak = true;
    claims.joint_peak = {joint.peak_time().since_start.count, bytes_of(cells), joint.max_running(),
                         joint.most_holes() * options_.layout.count_bytes()};
  }
  file_->add({log::FleetEnd{last_end_}, std::move(claims)});
}

}  // namespace kvplan::io
