// What `kvplan cache --driver` runs: an engine's prefix cache without time, which reproduces recorded behaviour of the
// real engine. tests/golden/README.md has the definitions and what was recorded.
//
// A replay is one file in its engine's folder, scheduling/ENGINE/replay/NAME.cpp, with an `EngineReplay` that the
// engine lists in its engine.cpp. Its header has the row types with their columns, and a function that passes rows to
// a sink, so that a caller can time it without writing anything.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/scheduling/replay/cache_options.h"
#include "traces/record/trace.h"

namespace kvplan::replays {

/// CSV texts with header lines.
struct Tables {
  bool wants_steps{false};  ///< set by the caller; `steps` is filled only if true
  std::string requests;     ///< one line per request, in file order
  std::string steps;        ///< one line per executed step
};

struct EngineReplay {
  std::string_view name;
  std::string_view summary;                 ///< half a sentence
  std::span<const std::string_view> needs;  ///< required options, as on the command line
  std::span<const std::string_view> takes;  ///< optional options
  bool has_steps;                           ///< makes the second table
  Status (*run)(const traces::Trace& trace, const CacheOptions& options, Tables& out);
};

}  // namespace kvplan::replays
