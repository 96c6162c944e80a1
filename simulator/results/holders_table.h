// The table of `kvplan run --holders`: the holders of all memory at one moment (simulator/observe/holders.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulator/run/run.h"

namespace kvplan::observe {
class Holders;
}

namespace kvplan::runs {

/// Life cycle: `attach` before the run, `csv` after it.
class HoldersTable {
 public:
  HoldersTable();
  ~HoldersTable();

  /// Makes the run fill the table; each step is then reported by itself. `at_s`: seconds, as the user wrote them.
  /// Errors: not a number of seconds. The scenario outlives the run.
  Status attach(const std::string& at_s, const Scenario& scenario, RunOptions& options);
  /// REQUIRES: the run has ended without an error.
  [[nodiscard]] std::string csv() const;

 private:
  std::vector<std::unique_ptr<observe::Holders>> holders_;  // by replica
};

}  // namespace kvplan::runs
