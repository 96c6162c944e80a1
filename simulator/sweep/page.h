// The database of a sweep as one HTML page that stands alone (report/html.h): what was varied, the best case for each
// of some figures, the mean of these figures by the value of each path, and why cases failed.
#pragma once

#include <string>

#include "simulator/sweep/database.h"

namespace kvplan::sweep {

/// `command` is the line that makes this page again.
Result<std::string> sweep_page(Database& database, const std::string& command);

}  // namespace kvplan::sweep
