#include "simulator/core/workload.h"

#include <numeric>

#include "simulator/base/check.h"

namespace kvplan::core {

ContentNames::ContentNames(const Workload& workload, std::int64_t block_tokens)
    : workload_(workload), block_tokens_(block_tokens) {
  if (workload.prefix == nullptr || !workload.prefix->present()) return;
  prefix_ = workload.prefix;
  const std::int64_t of_id = prefix_->block_tokens;
  coarse_ = block_tokens > of_id;
  if (coarse_) {
    tokens_to_end_ = std::gcd(block_tokens, of_id);
    ends_per_id_ = of_id / tokens_to_end_;
    shared_count_ = prefix_->distinct * ends_per_id_;
    return;
  }
  KVPLAN_CHECK(of_id % block_tokens == 0, of_id, block_tokens);
  row_ = of_id / block_tokens;
  shared_count_ = prefix_->distinct * row_;
}

std::int64_t ContentNames::coarse_name(std::uint64_t first, std::int64_t block) const {
  const std::int64_t last = (block + 1) * block_tokens_ - 1;
  const auto id = first + static_cast<std::uint64_t>(last / prefix_->block_tokens);
  return static_cast<std::int64_t>(prefix_->ids[id]) * ends_per_id_ +
         last % prefix_->block_tokens / tokens_to_end_;
}

}  // namespace kvplan::core
