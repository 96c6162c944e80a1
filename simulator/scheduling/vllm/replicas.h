// Replicas that decide as vLLM V1's scheduler does (vllm-project/vllm v0.15.1, vllm/v1/core/sched/scheduler.py: first
// come first served or by priority, synchronous, no speculation), over any allocator.
//
// Two implementations of the same scheduler give the same results:
//   make_fast_replica   work per step does not grow with the batch; whole runs of decode steps are planned at once
//   make_naive_replica  one request at a time, one step at a time: the readable definition
// They share nothing but the interfaces of simulator/core. `kvplan run --step-by-step` selects the second.
#pragma once

#include <memory>

#include "simulator/core/allocator.h"
#include "simulator/core/replica.h"
#include "simulator/scheduling/vllm/params.h"

namespace kvplan::scheduling::vllm {

/// `setup`, all that it refers to, and the allocator outlive the replica. REQUIRES: the allocator is empty; with
/// courses it has no prefix cache, unless ReplicaSetup::courses_find.
std::unique_ptr<core::Replica> make_fast_replica(const core::ReplicaSetup& setup, const Params& params,
                                                 core::Allocator& allocator);
std::unique_ptr<core::Replica> make_naive_replica(const core::ReplicaSetup& setup, const Params& params,
                                                  core::Allocator& allocator);

}  // namespace kvplan::scheduling::vllm
