// Decides which token policy and which budget a run follows, and how the run knows its kept tokens.
#pragma once

#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {

/// Sets `eviction`, `evicts_by` and `keep`. Errors: a policy that needs a recording when there is none, or that frees
/// no memory in a run. REQUIRES: recordings (`attention`) and the allocator are known.
Status choose_eviction(Scenario& scenario);

/// Sets `budget`. Layers with their own intervals need courses, and so does a budget that is measured on recordings.
/// REQUIRES: the eviction is chosen.
Status choose_budget(Scenario& scenario);

}  // namespace kvplan::runs
