// Flags of the command that starts an engine's server, as data: which setting of a scenario each one is. The table
// of an engine is server_flags.cpp in its folder. `kvplan explain NAME` prints it.
#pragma once

#include <span>
#include <string_view>

namespace kvplan::scheduling {

/// A value of a flag that the scenario writes otherwise.
struct FlagValue {
  std::string_view flag;     ///< "fp8_e4m3"
  std::string_view setting;  ///< "fp8"
};

/// One flag, and the setting that means the same.
struct ServerFlag {
  std::string_view flag;  ///< "--max-num-seqs"
  std::string_view path;  ///< of the scenario, or of a parameter: "engine.max_seqs"
  std::string_view
      fallback{};  ///< of the engine, as the flag writes it; empty: no value, or see `fallback_note`
  std::string_view
      fallback_note{};       ///< half a sentence: where another default holds, or what it follows from
  std::string_view alias{};  ///< another spelling of the flag
  std::string_view sets{};   ///< of a flag without a value: the text that it gives the path
  std::span<const FlagValue> values{};  ///< other values are written alike on both sides
};

}  // namespace kvplan::scheduling
