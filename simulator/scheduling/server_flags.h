// Flags of the command that starts an engine's server, as data: which scenario setting corresponds to each flag. An
// engine's table is server_flags.cpp in its folder. `kvplan explain NAME` prints it.
#pragma once

#include <span>
#include <string_view>

namespace kvplan::scheduling {

/// A flag value that a scenario spells differently.
struct FlagValue {
  std::string_view flag;     ///< "fp8_e4m3"
  std::string_view setting;  ///< "fp8"
};

/// One flag, and the scenario setting that means the same.
struct ServerFlag {
  std::string_view flag;  ///< "--max-num-seqs"
  std::string_view path;  ///< path in the scenario, or of a parameter: "engine.max_seqs"
  std::string_view
      fallback{};  ///< the engine's default, as the flag spells it; empty: no value, or see `fallback_note`
  std::string_view
      fallback_note{};  ///< half a sentence: where another default holds, or what the default follows from
  std::string_view alias{};  ///< another spelling of the flag
  std::string_view sets{};   ///< for a flag without a value: the value that it sets at the path
  /// Values spelled differently; all others are the same on both sides
  std::span<const FlagValue> values{};
};

}  // namespace kvplan::scheduling
