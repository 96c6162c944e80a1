// The report of a run as a message of proto/report.proto, and as JSON. Both directions walk the schema: the keys of
// the JSON report are the names of the fields, in their order.
#pragma once

#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/run/run.h"

namespace kvplan::v1 {
class Report;
}

namespace kvplan::io {

/// Most replicas of a report.
inline constexpr int kMostReplicas = 4096;

/// True if the text begins like the JSON report of a run.
bool looks_like_report_json(std::string_view begin);

/// Parses a JSON report into a message; errors name `file`. Errors: not JSON, keys that the schema does not have,
/// values of another type, missing numbers.
Status parse_report(std::string_view json, const std::string& file, v1::Report& message);

/// The JSON report: the same bytes as runs::report_json gives for the run. Fields of later versions are left out.
/// Errors: too many replicas, texts that are not valid values.
Result<std::string> report_json(const v1::Report& message);

/// Fills the message from a result. Error: a key for which the schema has no field.
Status fill_message(const runs::RunSummary& result, v1::Report& message);

}  // namespace kvplan::io
