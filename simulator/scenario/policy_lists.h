// Lists for error texts, from the catalogue: policies that runs can use without recordings.
#pragma once

#include <string>

namespace kvplan::runs {

/// Names of policies with a number of kept tokens that follows from lengths (placement=compact), separated by commas
/// in the catalogue's order; "NAME with PARAMETER=VALUE" if that is needed.
const std::string& counted_policies();

/// As counted_policies, for policies that need nothing from a recording, whatever their placement.
const std::string& policies_without_recordings();

}  // namespace kvplan::runs
