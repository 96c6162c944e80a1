// `kvplan cache TRACE --replacement ...`: the blocks of a trace played through caches of some sizes.
#pragma once

#include <memory>
#include <string>

#include "simulator/base/result.h"
#include "simulator/cli/options.h"
#include "traces/record/import_options.h"

namespace kvplan::cli {

class ReplacementCommand {
 public:
  /// Adds its options to a command that has its trace and the options of reading it, and no others yet. Where
  /// --replacement is given, options that are added later are neither needed nor allowed.
  explicit ReplacementCommand(Command& command);
  ~ReplacementCommand();
  /// --replacement was given: `run` is to run instead of whatever else the command does.
  [[nodiscard]] bool given() const;
  [[nodiscard]] Status run(const std::string& trace, const traces::ImportOptions& import) const;

 private:
  struct Flags;
  std::shared_ptr<Flags> flags_;
};

}  // namespace kvplan::cli
