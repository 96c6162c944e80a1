// Pages of a model with states in place of a KV cache: how many tokens a block has, so that a state fits into it.
#pragma once

#include <cstdint>

#include "simulator/base/result.h"
#include "simulator/memory/allocators.h"

namespace kvplan::memory {

struct StatePage {
  std::int64_t block_tokens{0};  ///< least tokens of a block
  std::int64_t slots{0};         ///< slots of a token in a layer that a state fills
};

/// grouped_pool.h has the rule, its source and the errors. `token_bytes`: of a token in a layer with attention, on the
/// rank; `metadata_bytes` is the part of it that is not keys and values. REQUIRES: a model with states.
Result<StatePage> state_page(const AllocatorRequest& request, std::int64_t token_bytes,
                             std::int64_t metadata_bytes);

}  // namespace kvplan::memory
