// How important each KV head of a model is: what a budget that distributes by heads is told.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::io {

/// [layer][KV head], from a JSON file with a list of numbers for each layer, or from that text itself. Errors: not
/// readable, not such lists, a negative score.
Result<std::vector<std::vector<double>>> read_head_scores(const std::string& file_or_text);

}  // namespace kvplan::io
