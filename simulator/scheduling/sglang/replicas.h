// Replicas that decide as SGLang's scheduler does (README.md), with time: a step lasts as long as the latency model
// says for its batch.
//
// Time matters to the scheduler's decisions in only one respect: an idle step takes no time. If requests wait after an
// idle step, the next step begins at the same moment; otherwise the replica sleeps until the next arrival.
//
// Two implementations of the same scheduler give the same results:
//   make_fast_replica   tokens in runs, incremental sums; runs of decode steps that nothing interrupts are planned
//                       and reported at once
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

/// `setup`, all that it refers to, and the memory outlive the replica. Keep rules and courses are ignored. max_new of a
/// request is the limit of its client in the trace, but at least its actual output. REQUIRES: chunks of whole pages;
/// the memory is empty.
std::unique_ptr<core::Replica> make_fast_replica(const core::ReplicaSetup& setup, const Params& params,
                                                 RadixMemory& memory);
std::unique_ptr<core::Replica> make_naive_replica(const core::ReplicaSetup& setup, const Params& params,
                                                  NaiveMemory& memory);

}  // namespace kvplan::scheduling::sglang
