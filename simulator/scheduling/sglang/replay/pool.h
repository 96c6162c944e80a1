// Shared by the replays of SGLang. Its page need not divide the block by which a trace names its contents: tokens are
// compared, not names.
#pragma once

#include <cstdint>

#include "simulator/base/result.h"
#include "simulator/scheduling/replay/cache_options.h"

namespace kvplan::replays {

inline constexpr std::int64_t kSglangQuantumMs = 50;

/// Errors: a page below 1 token, a pool of less than a page.
Status check_sglang_pool(const CacheOptions& options);

/// All settings of the scheduler.
scheduling::sglang::Params sglang_params(const CacheOptions& options);

}  // namespace kvplan::replays
