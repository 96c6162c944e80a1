// What `kvplan cache --driver` runs: an engine's prefix cache without time, as recorded behaviour of the real engine
// defines it. tests/golden/README.md has the definitions and what was recorded.
//
// A replay is a file in its engine's folder, scheduling/ENGINE/replay/NAME.cpp, with an `EngineReplay` that the engine
// lists in its engine.cpp. Its header has the row types, with their columns beside them, and a function that hands
// rows to a sink, so that a caller can time it without writing anything.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/scheduling/replay/cache_options.h"
#include "traces/record/trace.h"

namespace kvplan::replays {

/// CSV texts with their header lines.
struct Tables {
  bool wants_steps{false};  ///< set by the caller: only then `steps` is made
  std::string requests;     ///< one line per request, in file order
  std::string steps;        ///< one line per executed step
};

struct EngineReplay {
  std::string_view name;
  std::string_view summary;                 ///< half a sentence
  std::span<const std::string_view> needs;  ///< options that must be given, as the command line writes them
  std::span<const std::string_view> takes;  ///< options that may be given
  bool has_steps;                           ///< makes the second table
  Status (*run)(const traces::Trace& trace, const CacheOptions& options, Tables& out);
};

}  // namespace kvplan::replays
