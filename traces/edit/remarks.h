// Warnings of an edited trace. They contain counts, so those of the original do not hold for it.
#pragma once

#include "traces/record/trace.h"

namespace kvplan::traces {

/// Sets the warnings of `edited`, which was made from `original`: what can be counted (traces/record/oddities.h) is
/// counted in it; other warnings of the original get the prefix "Of the original: ...". What the importer of the
/// original did not report, because it is normal there, is not reported.
void renew_warnings(const Trace& original, Trace& edited);

/// The warnings of a trace without those that can be counted in it.
std::vector<std::string> lasting_warnings(const Trace& trace);

}  // namespace kvplan::traces
