// Which token policy and which budget a run follows, and how its kept tokens are known.
#pragma once

#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {

/// Sets `eviction`, `evicts_by` and `keep`. Errors: a policy that needs a recording without one, or that frees no
/// memory in a run. REQUIRES: recordings (`attention`) and the allocator are known.
Status choose_eviction(Scenario& scenario);

/// Layers with intervals of their own need courses, and so does a request with a measured recording. REQUIRES: the
/// eviction is chosen.
Status choose_budget(Scenario& scenario);

}  // namespace kvplan::runs
