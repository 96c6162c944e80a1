// Flags of the command that starts an engine's server, as data: which scenario setting corresponds to each flag. An
// engine's table is server_flags.cpp in its folder. `kvplan explain NAME` prints it.
#pragma once

#include <cstdint>
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
  std::string_view large_fallback{};  ///< the default where ServerCommand::is_large holds, if it differs
};

/// A variable of the server's environment, and the scenario setting that means the same.
struct ServerVariable {
  std::string_view name;        ///< "VLLM_PP_LAYER_PARTITION"
  std::string_view path;        ///< as ServerFlag::path
  std::string_view sets{};      ///< for a variable with the value 1: the value that this sets at the path
  std::string_view fallback{};  ///< the engine's default; empty: no value
};

/// The command that starts an engine's server: everything that its parser knows, whether kvplan models it or not.
/// Lists are names separated by spaces, spellings of one flag by |.
struct ServerCommand {
  std::string_view engine;         ///< its scheduler: "vllm-v1"
  std::string_view product;        ///< "vLLM"
  std::string_view version;        ///< "0.15.1"
  std::string_view program;        ///< "vllm serve"; programs of other spellings stand in `programs`
  std::string_view programs;       ///< separated by |, with the first one
  std::string_view image;          ///< of a container, with its tag
  std::string_view image_command;  ///< of the container, before the arguments; empty: the image has it
  std::string_view model_flag;     ///< empty: the model is an argument without a flag
  std::string_view
      balancer;  ///< the router inside one server with several data-parallel ranks; empty: unknown
  std::string_view allocator;         ///< that it has
  std::string_view window_allocator;  ///< that it has for models with windows
  std::int64_t port{0};               ///< on which it listens without a flag
  std::string_view log_words;         ///< of the line that states the pool, in its start-up log
  std::string_view values;            ///< flags with one value
  std::string_view switches;          ///< flags without a value, and with --no- before their name
  std::string_view ons;               ///< flags without a value
  std::string_view maybes;            ///< flags with a value or none
  std::string_view lists;             ///< flags with several values
  std::string_view
      affects;  ///< flags that change memory, speed or results in a way that no setting describes
  std::span<const ServerFlag> (*flags)();
  std::span<const ServerVariable> variables{};
  std::string_view overrides{};  ///< flags that change the model's config, and with it the model's own length
  std::string_view
      any_length{};  ///< the setting with which that length does not limit requests: "engine...."
  /// Defaults of large devices hold; `device`: name, with its memory in bytes.
  bool (*is_large)(std::string_view device, std::int64_t bytes);
};

/// All of them.
std::span<const ServerCommand* const> server_commands();
/// Of the engine with this scheduler; null: none is known.
const ServerCommand* server_command_of(std::string_view engine);

}  // namespace kvplan::scheduling
