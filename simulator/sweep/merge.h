// Merges the databases of shards into one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::sweep {

/// Writes a new database at `output` with the rows of all inputs. It belongs to the whole sweep, whatever shards the
/// inputs are, and `--resume` runs its missing cases. It appears complete or not at all; a kill leaves a file with the
/// ending ".part" beside it. A case in several inputs must have equal rows. Errors: no input, inputs of different
/// sweeps, a case with two different rows, an existing file at `output`, interrupted (`stop` returns true).
Status merge(const std::vector<std::string>& inputs, const std::string& output,
             const std::function<bool()>& stop);

}  // namespace kvplan::sweep
