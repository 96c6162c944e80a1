// The order of facts of several replicas in a log. Written from simulator/io/log/FORMAT.md, "Several replicas".
//
// A tick has rounds: the ends of steps, arrivals, the passes. A step of no ticks ends in the round after the one in
// which it began. The round of a fact follows from the steps of its replica, so the order can be checked fact by
// fact.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/io/log/events.h"

namespace kvplan::validator {

class FleetOrder {
 public:
  explicit FleetOrder(std::int64_t replicas) : replicas_(static_cast<std::size_t>(replicas)) {}

  /// Checks the place of the next fact. Returns an empty text, or the error in its place.
  std::string place(const event_log::Record& record);
  /// Tick of the latest fact.
  [[nodiscard]] std::int64_t tick() const { return now_.time; }
  /// True: the ends of all replicas were reported.
  [[nodiscard]] bool over() const { return over_; }

 private:
  enum Phase : std::int8_t { kEnds, kArrivals, kPasses };
  struct Moment {
    std::int64_t time{0}, round{0};
    friend auto operator<=>(const Moment&, const Moment&) = default;
  };
  struct Clock {
    Moment at{};            ///< moment of its latest end of a step, or pass
    Moment steps_end{};     ///< end of the steps reported since then
    Moment arrived{-1, 0};  ///< moment of the latest request delivered to it
  };

  // One function for each kind of fact that begins something, or stands alone.
  std::string on(const event_log::Arrival& f, Clock& clock);
  std::string on(const event_log::PassBegin& f, Clock& clock);
  std::string on(const event_log::StepRun& f, Clock& clock);
  std::string on(const event_log::StepEnd& f, Clock& clock);
  std::string on(const event_log::End& f, Clock& clock);
  std::string on(const event_log::PrefixIds& f, Clock& clock);
  std::string on(const event_log::PassEnd& f, Clock& clock);
  std::string on(const event_log::TickEnd& f, Clock& clock);
  std::string on(const event_log::FleetEnd& f, Clock& clock);
  template <class Fact>
  std::string on(const Fact& /*f*/, Clock& /*clock*/) {
    return belongs_to_pass_or_end();
  }

  std::string go_to(const Moment& moment, Phase phase);
  std::string begin_tick(std::int64_t time);
  [[nodiscard]] std::string belongs_to_pass_or_end() const;
  [[nodiscard]] std::string name() const { return "replica " + std::to_string(replica_); }

  std::vector<Clock> replicas_;
  Moment now_{-1, 0};
  Phase phase_{kPasses};
  std::int32_t latest_{-1};  ///< replica of the latest fact
  std::int32_t replica_{0};  ///< replica of the fact being placed
  bool owes_end_{false};     ///< a TickEnd of this tick is due, because it has passes or ends of steps
  bool tick_over_{false};
  std::int32_t ended_{0};  ///< number of replicas that have ended
  std::int64_t last_end_{0};
  bool over_{false};
};

}  // namespace kvplan::validator
