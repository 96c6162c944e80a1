// A comparison as text, as JSON and as one HTML page. The answer comes first in each (answer.h).
#pragma once

#include <string>

#include "simulator/report/content.h"
#include "simulator/study/compare.h"

namespace kvplan::report {

/// One row per variant: its use of memory, and the service of requests.
std::vector<Table> comparison_tables(const runs::Comparison& comparison);
/// Warnings for users of the JSON alone: variants that could not run, and the warnings of the others, without
/// repetition.
std::vector<std::string> comparison_warnings(const runs::Comparison& comparison);

/// {"varied": [...], "answer": {...}, "variants": [{"name", "varied", "error", and the keys of a report}]}; "parting"
/// as in partings.h.
std::string comparison_json(const runs::Comparison& comparison);
/// The answer, a row for each variant, and the settings that were given. `verbose`: also a sentence about each
/// variant, every setting and every assumption.
std::string comparison_text(const runs::Comparison& comparison, std::size_t width, bool verbose);
/// `command`: the command line that makes this page again. Running requests are drawn for variants that have
/// timelines.
std::string comparison_html(const runs::Comparison& comparison, const std::string& command);

}  // namespace kvplan::report
