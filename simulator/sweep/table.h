// The rows of a database as CSV, in the order of cases: a line with the names of the columns, then one for each case.
// Fields with commas, quotes or line ends are quoted (RFC 4180); a missing value is empty.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "simulator/sweep/database.h"

namespace kvplan::sweep {

/// Writes the same bytes for the same rows, in whatever order and by whatever processes they were added.
Status write_csv(Database& database, const std::function<Status(std::string_view)>& sink);

/// Appends a field to a line, after a comma unless the line is empty.
void append_csv_field(std::string& line, const std::string& text);

}  // namespace kvplan::sweep
