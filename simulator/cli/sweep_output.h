// What the commands around databases of sweeps share: their names, and what is said of one.
#pragma once

#include <string>

#include "simulator/base/result.h"

namespace kvplan::sweep {
class Database;
}

namespace kvplan::cli {

/// A name that a database can be written to; with `there` it may be there already.
Status check_database_name(const std::string& path, bool there);

/// A few lines for a terminal: how many cases there are, are done and failed, and what is varied.
Result<std::string> database_text(sweep::Database& database);

}  // namespace kvplan::cli
