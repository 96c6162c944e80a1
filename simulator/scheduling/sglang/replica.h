// A replica that decides as SGLang's scheduler does (scheduler.h), in time: a step lasts as long as the latency model
// says of its batch.
//
// Where time makes a difference to the scheduler's own steps: an idle step takes none. If requests wait after one, the
// next step begins at the same moment; if nobody does, the replica sleeps until the next arrival.
#pragma once

#include <memory>

#include "simulator/core/replica.h"
#include "simulator/scheduling/sglang/params.h"
#include "simulator/scheduling/sglang/radix_memory.h"

namespace kvplan::scheduling::sglang {

/// `setup` and all that it names, and the memory, outlive the replica. It follows no keep rule and no courses. What a
/// request may generate (max_new) is what the trace says its client allows, but at least what it does generate.
/// `naive`: one step at a time; else runs of decode steps that nothing interrupts are planned and told at once, with
/// the same results. REQUIRES: chunks of whole pages; the memory is empty.
std::unique_ptr<core::Replica> make_replica(const core::ReplicaSetup& setup, const Params& params,
                                            RadixMemory& memory, bool naive);

}  // namespace kvplan::scheduling::sglang
