// Tables of `kvplan sweep`.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/traces/support.h"

namespace kvplan::sweep {

using traces::testing::Outcome;
using traces::testing::run_kvplan;

extern const std::string kTrace;  ///< a file
/// 24 cases of the trace; those with blocks of 32 cannot run (the trace has hash blocks of 16).
extern const std::string kCases;

/// The table of a database.
std::string csv_of(const std::string& database);
std::vector<std::string> lines_of(const std::string& text);

}  // namespace kvplan::sweep
