// The sessions family: when the turns of recorded sessions arrive. Members are names and settings;
// simulator/workload/closed_loops.cpp applies them to a trace, simulator/core/arrivals.cpp uses the result in a run.
#pragma once

#include <cstdint>

#include "simulator/base/component.h"

namespace kvplan::workload {

struct SessionRule {
  enum class Waits : std::uint8_t {
    kStated,    ///< waits that the trace states
    kSessions,  ///< also waits that follow from sessions (traces/record/turns.h)
    kNone,      ///< no waits: everything arrives at its recorded time
    kClients,   ///< no recorded times: `clients` share the list of requests
  };
  Waits waits{Waits::kStated};
  std::int64_t think_scale_2_20{1 << 20};  ///< pauses are multiplied by this / 2^20
  std::int64_t most_think_ns{INT64_MAX};   ///< longer pauses are cut to this, before they are scaled
  std::int64_t clients{0};                 ///< with kClients: how many
  std::int64_t client_think_ns{0};  ///< with kClients: from the end of a request to a client's next one
};

Catalogue session_descriptors();
/// REQUIRES: the choice is of family "sessions".
SessionRule session_rule(const Choice& sessions);

}  // namespace kvplan::workload
