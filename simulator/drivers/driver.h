// The drivers of `kvplan cache`: prefix caches without time, which reproduce recorded behaviour of real engines.
// tests/golden/README.md has their definitions and what was recorded.
//
// A driver is one file, ENGINE_NAME.cpp, with a descriptor, and one line in drivers.cpp. Its header has the row types
// with their columns, and a function that passes rows to a sink, so that a caller can time it without writing anything.
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
  bool wants_steps{false};  ///< set by the caller; `steps` is filled only if true
  std::string requests;     ///< one line per request, in file order
  std::string steps;        ///< one line per executed step
};

struct CacheDriver {
  std::string_view engine, name;
  std::string_view summary;                 ///< half a sentence
  std::span<const std::string_view> needs;  ///< required options, as on the command line
  std::span<const std::string_view> takes;  ///< optional options
  bool has_steps;                           ///< makes the second table
  Status (*run)(const traces::Trace& trace, const CacheOptions& options, Tables& out);
};

/// All drivers, engine by engine.
std::span<const CacheDriver* const> cache_drivers();
/// Null if there is none.
const CacheDriver* find_driver(std::string_view engine, std::string_view name);

}  // namespace kvplan::drivers
