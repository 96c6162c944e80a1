// A command that starts a server, as its user writes it: words of a shell, the program, and its flags as the engine's
// own parser reads them (scheduling/server_flags.h has what that parser knows).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/scheduling/server_flags.h"

namespace kvplan::launch {

/// Words as a POSIX shell splits them: quotes, backslashes, comments, and lines joined by a backslash. Ends at &, |, ;
/// and redirections outside quotes. Errors: a quote that does not end.
Result<std::vector<std::string>> shell_words(std::string_view text);

struct GivenFlag {
  std::string name;     ///< its first spelling, such as --tensor-parallel-size; unknown flags: as written
  std::string written;  ///< as written, without its value
  std::vector<std::string> values;  ///< none for a switch
  bool negated{false};              ///< --no-...
  bool known{false};
  std::string hint;  ///< for an unknown flag: a similar one; may be empty
};

struct CommandLine {
  const scheduling::ServerCommand* server{nullptr};
  /// Variables of its environment, NAME and VALUE, that stand before it
  std::vector<std::pair<std::string, std::string>> variables;
  std::string model;  ///< the argument without a flag; may be empty
  std::vector<GivenFlag> flags;
};

/// Errors: no server that kvplan knows; a flag without its value; an argument that no flag takes (field: the word).
Result<CommandLine> parse_command(std::string_view text);

}  // namespace kvplan::launch
