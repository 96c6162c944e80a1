// Which policies a run follows without recordings, out of the catalogue, for what errors say.
#pragma once

#include <string>

namespace kvplan::plan {

/// Names of those of which lengths say how many tokens stay (placement=compact), parted by commas in the catalogue's
/// order; "NAME with PARAMETER=VALUE" where it takes that.
const std::string& counted_policies();

/// Likewise of those of which lengths say which tokens stay, whatever their placement.
const std::string& positional_policies();

}  // namespace kvplan::plan
