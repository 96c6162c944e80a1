// Replicas that decide as SGLang's scheduler does (README.md), in time: a step lasts as long as the latency model says
// of its batch.
//
// Where time makes a difference to the scheduler's own steps: an idle step takes none. If requests wait after one, the
// next step begins at the same moment; if nobody does, the replica sleeps until the next arrival.
//
// Two implementations of the same scheduler give the same results:
//   make_fast_replica   tokens in runs, sums kept up to date; runs of decode steps that nothing interrupts are planned
//                       and told at once
//   make_naive_replica  one page, one request, one step at a time: the readable definition
// They share nothing but the interfaces of simulator/core and the settings. `kvplan run --step-by-step` selects the
// second.
#pragma once

#include <memory>

#include "simulator/core/replica.h"
#include "simulator/scheduling/sglang/params.h"

namespace kvplan::scheduling::sglang {

class NaiveMemory;
class RadixMemory;

/// `setup` and all that it names, and the memory, outlive the replica. It follows no keep rule and no courses. What a
/// request may generate (max_new) is what the trace says its client allows, but at least what it does generate.
/// REQUIRES: chunks of whole pages; the memory is empty.
std::unique_ptr<core::Replica> make_fast_replica(const core::ReplicaSetup& setup, const Params& params,
                                                 RadixMemory& memory);
std::unique_ptr<core::Replica> make_naive_replica(const core::ReplicaSetup& setup, const Params& params,
                                                  NaiveMemory& memory);

}  // namespace kvplan::scheduling::sglang
