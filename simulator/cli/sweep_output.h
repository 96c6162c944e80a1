// Shared by the commands that use databases of sweeps: checks of names, and descriptions.
#pragma once

#include <string>

#include "simulator/base/result.h"

namespace kvplan::sweep {
class Database;
}

namespace kvplan::cli {

/// Checks a name for a new database; with `there` the file may exist.
Status check_database_name(const std::string& path, bool there);

/// A few lines for a terminal: numbers of cases, done and failed ones, and what is varied.
Result<std::string> database_text(sweep::Database& database);

}  // namespace kvplan::cli
