// A format given by an option, applied to a recording.
#pragma once

#include <string>

#include "simulator/formats/evaluation.h"

namespace kvplan::cli {

/// Reads the format and its side file, if any. Errors (field: --format): unknown name, wrong parameters, a file that
/// cannot be read.
Result<formats::FormatChoice> read_format_input(const std::string& text);

/// Ends early if the user interrupts. Errors: as formats::evaluate; errors without a file get `file`.
Result<formats::Evaluation> evaluate_format(const attention::Recording& recording,
                                            formats::EvaluationRequest request, const std::string& file);

}  // namespace kvplan::cli
