// The names of databases that sweeps are written to.
#pragma once

#include <string>

#include "simulator/base/result.h"

namespace kvplan::cli {

/// Checks a name for a new database; with `there` the file may exist.
Status check_database_name(const std::string& path, bool there);

}  // namespace kvplan::cli
