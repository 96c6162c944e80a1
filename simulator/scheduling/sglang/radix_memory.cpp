#include "simulator/scheduling/sglang/radix_memory.h"

namespace kvplan::scheduling::sglang {

core::PoolCounts RadixMemory::counts() const {
  const std::int64_t page = layout_.alloc_unit_tokens;
  const prefix::RadixTree& tree = pool_.tree();
  core::PoolCounts counts;
  counts.free = pool_.available_tokens() / page;
  counts.cached = pool_.evictable_tokens() / page;
  counts.held = layout_.alloc_units - counts.free - counts.cached;
  counts.shared = tree.protected_tokens() / page;
  counts.distinct_names = (tree.protected_tokens() + tree.evictable_tokens()) / page;
  counts.sharers = (tree.locked_tokens() - tree.protected_tokens()) / page;
  return counts;
}

bool RadixMemory::fits_empty(RequestId request) const {
  const std::size_t i = index(request);
  const std::int64_t prompt = workload_.input[i];
  return prompt < most_tokens() - kSparedTokens && prompt + workload_.output[i] < most_tokens();
}

}  // namespace kvplan::scheduling::sglang
