// The engine family: parameters of the scheduler. The scheduler itself is simulator/core (naive_replica.cpp
// defines it, fast_replica.cpp serves), so that a member here is a name and settings for it; one that decides
// otherwise begins there.
#pragma once

#include "simulator/base/component.h"
#include "simulator/core/engine.h"

namespace kvplan::scheduling {

Catalogue engine_descriptors();
/// REQUIRES: the choice is of family "engine".
core::SchedulerParams scheduler_params(const Choice& engine);

}  // namespace kvplan::scheduling
