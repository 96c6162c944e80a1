// Scores of the KV heads of a model, for budgets that distribute by heads.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::io {

/// [layer][KV head], from a JSON file with a list of numbers for each layer, or from that text itself. Errors: not
/// readable, not such lists, a negative score.
Result<std::vector<std::vector<double>>> read_head_scores(const std::string& file_or_text);

}  // namespace kvplan::io
