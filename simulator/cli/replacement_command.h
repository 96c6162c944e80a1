// `kvplan cache TRACE --replacement ...`: replays the blocks of a trace through caches of several sizes.
#pragma once

#include <memory>
#include <string>

#include "simulator/base/result.h"
#include "simulator/cli/options.h"
#include "traces/record/import_options.h"

namespace kvplan::cli {

class ReplacementCommand {
 public:
  /// Adds its options to a command that has only its trace and the options for reading it. If --replacement is given,
  /// options that the command adds later are neither required nor allowed.
  explicit ReplacementCommand(Command& command);
  ~ReplacementCommand();
  /// True: --replacement was given. The command then calls `run` and does nothing else.
  [[nodiscard]] bool given() const;
  [[nodiscard]] Status run(const std::string& trace, const traces::ImportOptions& import) const;

 private:
  struct Flags;
  std::shared_ptr<Flags> flags_;
};

}  // namespace kvplan::cli
