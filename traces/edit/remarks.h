// Warnings of an edited trace. They count things, so those of the original are not true of it as they stand.
#pragma once

#include "traces/record/trace.h"

namespace kvplan::traces {

/// Gives `edited`, made of `original`, its warnings: what can be counted (traces/record/oddities.h) is counted in it
/// anew, all else that was said of the original says so ("Of the original: ..."). What the importer of the original
/// left unsaid of it, since it is no oddity there, stays unsaid.
void renew_warnings(const Trace& original, Trace& edited);

/// The warnings of a trace but for those that can be counted in it.
std::vector<std::string> lasting_warnings(const Trace& trace);

}  // namespace kvplan::traces
