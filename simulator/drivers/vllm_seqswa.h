// Driver `seqswa` of vLLM V1: as `seq`, with two groups of layers in one pool, of which the second sees a window
// (memory/grouped_prefixes.h).
#pragma once

#include "simulator/drivers/vllm_seq.h"

namespace kvplan::drivers {

/// Errors: as `seq`, and a window or chunk below 1 or above 2^31.
Status run_vllm_seqswa(const traces::Trace& trace, const CacheOptions& options,
                       const std::function<void(const SeqRow&)>& sink);

extern const CacheDriver kVllmSeqswa;

}  // namespace kvplan::drivers
