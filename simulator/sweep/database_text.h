// What the commands that work on databases of sweeps print about one.
#pragma once

#include <string>

#include "simulator/base/result.h"

namespace kvplan::sweep {

class Database;

/// A few lines for a terminal: numbers of cases, done and failed ones, and what is varied.
Result<std::string> database_text(Database& database);

}  // namespace kvplan::sweep
