// Warnings of an edited trace. Warnings contain counts, so those of the original trace do not apply to the edited one.
#pragma once

#include "traces/record/trace.h"

namespace kvplan::traces {

/// Sets the warnings of `edited`, which was made from `original`. What can be counted (traces/record/oddities.h) is
/// counted in `edited`; other warnings get the prefix kOfTheOriginal (known_warnings.h). What the importer of the
/// original did not report, because it is normal there, is not reported.
void renew_warnings(const Trace& original, Trace& edited);

/// The warnings of a trace without those that can be counted in it.
std::vector<std::string> lasting_warnings(const Trace& trace);

}  // namespace kvplan::traces
