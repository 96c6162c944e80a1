#include "validator/replay/fleet_order.h"

#include <algorithm>
#include <tuple>
#include <variant>

namespace kvplan::validator {

namespace log = event_log;

std::string FleetOrder::place(const log::Record& record) {
  if (over_) return "an event after the end of all replicas";
  replica_ = record.replica;
  std::string wrong = std::visit(
      [&](const auto& f) { return on(f, replicas_[static_cast<std::size_t>(record.replica)]); }, record.fact);
  latest_ = record.replica;
  return wrong;
}

/// Begins another tick; the one before must be over.
std::string FleetOrder::begin_tick(std::int64_t time) {
  if (ended_ > 0) return name() + " continues after replicas have ended";
  if (owes_end_) return "the end of tick " + std::to_string(now_.time) + " is not told";
  if (time < now_.time)
    return name() + " has an event at tick " + std::to_string(time) + ", before tick " +
           std::to_string(now_.time);
  now_ = {time, 0};
  tick_over_ = false;
  return {};
}

std::string FleetOrder::go_to(const Moment& moment, Phase phase) {
  if (moment.time != now_.time) {
    std::string wrong = begin_tick(moment.time);
    if (!wrong.empty()) return wrong;
    phase_ = kEnds;
    latest_ = -1;
  } else if (tick_over_) {
    return name() + " has an event at tick " + std::to_string(moment.time) + ", which has ended";
  }
  const auto here = std::tie(moment, phase, replica_);
  const auto before = std::tie(now_, phase_, latest_);
  // The phase continues, or a scheduler step follows another one without a model step between them.
  const bool again = phase == kPasses && here == before;
  if (here <= before && !again)
    return name() + (phase == kEnds ? " ends steps" : " has a pass") + " at tick " +
           std::to_string(moment.time) + ", in the wrong order within the tick";
  now_ = moment;
  phase_ = phase;
  owes_end_ = owes_end_ || phase == kEnds;
  return {};
}

std::string FleetOrder::belongs_to_pass_or_end() const {
  if (phase_ != kArrivals && latest_ == replica_ && !tick_over_) return {};
  return name() +
         " has an event during a pass or step end of another replica, or outside of its own pass and step "
         "end";
}

// ---- what begins something ----

std::string FleetOrder::on(const log::Arrival& f, Clock& clock) {
  if (f.time != now_.time) {
    std::string wrong = begin_tick(f.time);
    if (!wrong.empty()) return wrong;
  } else if (tick_over_ || phase_ == kPasses) {
    return "request " + std::to_string(number(f.request)) + " arrives after the passes of its tick";
  }
  phase_ = kArrivals;
  clock.arrived = now_;
  return {};
}

std::string FleetOrder::on(const log::PassBegin& f, Clock& clock) {
  // A scheduler step runs as soon as it is due: at the end of its step, or at an arrival.
  Moment at{f.time, clock.at.time == f.time ? clock.at.round : 0};
  if (clock.arrived.time == f.time) at.round = std::max(at.round, clock.arrived.round);
  clock.at = clock.steps_end = at;
  return go_to(at, kPasses);
}

std::string FleetOrder::on(const log::StepRun& f, Clock& clock) {
  if (f.time != clock.steps_end.time)
    return name() + " begins steps at tick " + std::to_string(f.time) + ", not " +
           std::to_string(clock.steps_end.time);
  if (f.span() > log::kMostTime - f.time) return "time passes 2^62 ticks";
  clock.at = clock.steps_end;
  Moment& end = clock.steps_end;
  end.time += static_cast<std::int64_t>(f.span());
  if (end.time == f.time) {
    end.round += f.steps;
  } else {
    end.round = f.span() == f.span(f.steps - 1) ? 1 : 0;  // only the last step of a series may take no time
  }
  return go_to(clock.at, kPasses);
}

std::string FleetOrder::on(const log::StepEnd& f, Clock& clock) {
  if (f.time != clock.steps_end.time)
    return name() + " ends steps at tick " + std::to_string(f.time) + ", not " +
           std::to_string(clock.steps_end.time);
  clock.at = clock.steps_end;
  return go_to(clock.at, kEnds);
}

// ---- what continues, and what ends ----

std::string FleetOrder::on(const log::PrefixIds& /*f*/, Clock& /*clock*/) {
  if (phase_ == kArrivals && latest_ == replica_ && !tick_over_) return {};
  return "prompt ids that do not follow the request's arrival";
}

std::string FleetOrder::on(const log::PassEnd& /*f*/, Clock& /*clock*/) {
  owes_end_ = true;
  return belongs_to_pass_or_end();
}

std::string FleetOrder::on(const log::TickEnd& f, Clock& /*clock*/) {
  if (!owes_end_ || f.time != now_.time) return "tick " + std::to_string(f.time) + " has no end to report";
  owes_end_ = false;
  tick_over_ = true;
  return {};
}

std::string FleetOrder::on(const log::End& f, Clock& /*clock*/) {
  if (owes_end_) return "the end of tick " + std::to_string(now_.time) + " is not told";
  if (replica_ != ended_) return "replica " + std::to_string(ended_) + " must end first";
  ++ended_;
  tick_over_ = true;
  last_end_ = std::max(last_end_, f.time);
  return {};
}

std::string FleetOrder::on(const log::FleetEnd& f, Clock& /*clock*/) {
  if (ended_ != static_cast<std::int32_t>(replicas_.size())) return "not all replicas have ended";
  if (f.time != last_end_)
    return "the last step of all replicas ended at tick " + std::to_string(last_end_) + ", not " +
           std::to_string(f.time);
  over_ = true;
  return {};
}

}  // namespace kvplan::validator
