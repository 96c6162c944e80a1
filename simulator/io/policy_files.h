// Files that token policies name.
#pragma once

#include <memory>
#include <string>

#include "simulator/attention/catalogue.h"
#include "simulator/base/result.h"

namespace kvplan::io {

/// Reads what a policy needs of files (`recorded:file=`, tables of heads); nothing where it needs none. Errors: not
/// readable, not JSON, keys that are missing; the field is the parameter.
Status read_policy_files(attention::PolicyChoice& policy);

/// Retained sets by their path. Errors: not readable, not JSON, keys that are missing; file and what was expected.
Result<std::shared_ptr<const attention::RecordedLayers>> read_recorded_sets(const std::string& path);

}  // namespace kvplan::io
