// The drivers of `kvplan cache`: prefix caches without time, as recorded behaviour of real engines is defined by
// them. tests/golden/README.md has their definitions and what was recorded.
//
// A driver is one file, ENGINE_NAME.cpp, with a descriptor and one line in drivers.cpp. Its header has the row types,
// whose columns stand beside them, and a function that hands rows to a sink, so that a caller can time it without
// writing anything.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/drivers/cache_options.h"
#include "traces/record/trace.h"

namespace kvplan::drivers {

/// CSV texts with their header lines.
struct Tables {
  bool wants_steps{false};  ///< set by the caller: only then `steps` is made
  std::string requests;     ///< one line per request, in file order
  std::string steps;        ///< one line per executed step
};

struct CacheDriver {
  std::string_view engine, name;
  std::string_view summary;                 ///< half a sentence
  std::span<const std::string_view> needs;  ///< options that must be given, as the command line writes them
  std::span<const std::string_view> takes;  ///< options that may be given
  bool has_steps;                           ///< makes the second table
  Status (*run)(const traces::Trace& trace, const CacheOptions& options, Tables& out);
};

/// All drivers, engine by engine.
std::span<const CacheDriver* const> cache_drivers();
/// Null where there is none.
const CacheDriver* find_driver(std::string_view engine, std::string_view name);

}  // namespace kvplan::drivers
