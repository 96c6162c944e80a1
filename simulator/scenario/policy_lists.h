// Which policies a run follows without recordings, out of the catalogue, for what errors say.
#pragma once

#include <string>

namespace kvplan::plan {

/// Names of those of which lengths say how many tokens stay (placement=compact), parted by commas in the catalogue's
/// order; "NAME with PARAMETER=VALUE" where it takes that.
const std::string& counted_policies();

/// Likewise of those that ask for nothing that a recording has, whatever their placement.
const std::string& policies_without_recordings();

}  // namespace kvplan::plan
