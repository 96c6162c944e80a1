// A format as an option names it, tried on a recording.
#pragma once

#include <string>

#include "simulator/formats/evaluation.h"

namespace kvplan::cli {

/// With its side file, if it has one, read. Errors (field: --format): no such member, wrong parameters, a file that
/// cannot be read.
Result<formats::FormatChoice> read_format_input(const std::string& text);

/// Stops when interrupted. Errors: as formats::evaluate; bad input is in `file`, where nothing else says so.
Result<formats::Evaluation> evaluate_format(const attention::Recording& recording,
                                            formats::EvaluationRequest request, const std::string& file);

}  // namespace kvplan::cli
