// A scenario from the command that starts a server: each flag that kvplan models becomes a setting, the engine's own
// defaults included; the others are listed.
#pragma once

#include <string>
#include <vector>

#include "simulator/launch/command_line.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::launch {

struct FromCommandOptions {
  std::string model;   ///< replaces the command's; empty: the command's
  std::string device;  ///< a name of kvplan list device; empty: unknown
};

/// A flag without a setting.
struct Ignored {
  std::string flag;  ///< as written, with its values
  std::string why;
};

struct FromCommand {
  const scheduling::ServerCommand* server{nullptr};
  std::string model;                    ///< as the command names it
  std::vector<runs::Setting> settings;  ///< paths of at most two parts
  std::vector<Ignored> affecting;       ///< flags that change memory, speed or results
  std::vector<std::string> ignored;     ///< known to the server; they change nothing that kvplan models
  std::vector<Ignored> unknown;         ///< flags that this version of the server does not know
  std::vector<std::string> missing;     ///< values that a run needs and the command does not state
  std::vector<std::string> notes;       ///< whole sentences
};

/// Errors: those of parse_command; a value that a flag cannot have (field: the flag).
Result<FromCommand> from_command(std::string_view command, const FromCommandOptions& options);

}  // namespace kvplan::launch
