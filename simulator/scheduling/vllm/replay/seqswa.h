// Replay `seqswa` of vLLM V1: like `seq`, with two groups of layers in one pool, the second with a window
// (memory/grouped_prefixes.h).
#pragma once

#include "simulator/scheduling/vllm/replay/seq.h"

namespace kvplan::replays {

/// Errors: as `seq`, and a window or chunk below 1 or above 2^31.
Status run_vllm_seqswa(const traces::Trace& trace, const CacheOptions& options,
                       const std::function<void(const SeqRow&)>& sink);

extern const EngineReplay kVllmSeqswa;

}  // namespace kvplan::replays
