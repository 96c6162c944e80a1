// The databases of shards become one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::sweep {

/// A new database at `output` with the rows of all inputs: of the whole sweep, whatever their shards; `--resume` runs
/// what is missing. It appears whole or not at all; a kill leaves a file beside it whose name ends in ".part". A case
/// that several inputs have must be the same in all. Errors: no input, inputs of different sweeps, a case with two
/// rows that differ, a file at `output`, interrupted (`stop` says so).
Status merge(const std::vector<std::string>& inputs, const std::string& output,
             const std::function<bool()>& stop);

}  // namespace kvplan::sweep
