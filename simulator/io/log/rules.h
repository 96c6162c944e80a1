// How an engine schedules, as far as an event log has to say it: a replay of the log has to know which order of events
// is right. An engine states its rules in its folder (scheduling/NAME/engine.cpp); the log carries them.
#pragma once

#include <cstdint>

namespace kvplan::event_log {

struct Rules {
  bool prefills_apart{false};  ///< a step with prefill chunks computes nothing else: decoding requests wait
  bool by_priority{false};     ///< queue order and preemption order follow the priority that arrivals state

  /// What an arrival with this priority states; 0: the log says nothing of priorities.
  [[nodiscard]] std::int32_t priority_told(std::int32_t priority) const { return by_priority ? priority : 0; }
};

}  // namespace kvplan::event_log
