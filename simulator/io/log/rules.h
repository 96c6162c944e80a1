// The scheduling rules of an engine that an event log states, because a replay has to know which order of events is
// right. An engine defines its rules in its folder (scheduling/NAME/engine.cpp); the log contains them.
#pragma once

#include <cstdint>

namespace kvplan::event_log {

struct Rules {
  bool prefills_apart{false};  ///< a step with prefill chunks computes nothing else: decoding requests wait
  bool by_priority{false};     ///< queue order and preemption order follow the priority that arrivals state

  /// The priority that an arrival states in the log; 0: the log has no priorities.
  [[nodiscard]] std::int32_t priority_told(std::int32_t priority) const { return by_priority ? priority : 0; }
};

}  // namespace kvplan::event_log
