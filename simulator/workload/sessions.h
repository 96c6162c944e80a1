// The sessions family: when the turns of recorded sessions arrive. Members are names and settings; what they mean
// for a trace is simulator/workload/closed_loops.cpp, and the engine's part simulator/core/arrivals.cpp.
#pragma once

#include <cstdint>

#include "simulator/base/component.h"

namespace kvplan::workload {

struct SessionRule {
  enum class Waits : std::uint8_t {
    kStated,    ///< those that the trace states
    kSessions,  ///< and those that sessions suggest (traces/record/turns.h)
    kNone,      ///< everything arrives at its recorded time
  };
  Waits waits{Waits::kStated};
  std::int64_t think_scale_2_20{1 << 20};  ///< pauses are this many 2^-20 times as long
  std::int64_t most_think_ns{INT64_MAX};   ///< longer pauses are cut to this, before they are scaled
};

Catalogue session_descriptors();
/// REQUIRES: the choice is of family "sessions".
SessionRule session_rule(const Choice& sessions);

}  // namespace kvplan::workload
