#include "simulator/core/workload.h"

#include "simulator/base/check.h"

namespace kvplan::core {

ContentNames::ContentNames(const Workload& workload, std::int64_t block_tokens)
    : workload_(workload), block_tokens_(block_tokens) {
  if (workload.prefix == nullptr || !workload.prefix->present()) return;
  KVPLAN_CHECK(workload.prefix->block_tokens % block_tokens == 0, workload.prefix->block_tokens,
               block_tokens);
  prefix_ = workload.prefix;
  per_id_ = prefix_->block_tokens / block_tokens;
  shared_count_ = prefix_->distinct * per_id_;
}

}  // namespace kvplan::core
