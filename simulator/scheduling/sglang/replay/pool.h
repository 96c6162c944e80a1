// Shared by the replays of SGLang. The page size need not divide the block size of the trace's hashes: these replays
// compare tokens, not hashes.
#pragma once

#include <cstdint>

#include "simulator/base/result.h"
#include "simulator/scheduling/replay/cache_options.h"

namespace kvplan::replays {

inline constexpr std::int64_t kSglangQuantumMs = 50;

/// Errors: a page below 1 token, a pool of less than a page.
Status check_sglang_pool(const CacheOptions& options);

/// All settings of the scheduler, from the options.
scheduling::sglang::Params sglang_params(const CacheOptions& options);

}  // namespace kvplan::replays
