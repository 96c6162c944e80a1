// Files that token policies name.
#pragma once

#include <memory>
#include <string>

#include "simulator/attention/catalogue.h"
#include "simulator/base/result.h"

namespace kvplan::io {

/// Reads the files that a policy names (`recorded:file=`, tables of heads); does nothing if it names none. Errors:
/// not readable, not JSON, missing keys; the field is the parameter.
Status read_policy_files(attention::PolicyChoice& policy);

/// Reads retained sets from a path. Errors, with the file and what was expected: not readable, not JSON, missing
/// keys.
Result<std::shared_ptr<const attention::RecordedLayers>> read_recorded_sets(const std::string& path);

}  // namespace kvplan::io
