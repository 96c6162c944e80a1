// SGLang's memory as the rest of the program sees it: capacity and counts of a prefix::RadixPool.
//
// The allocation unit is a page. Pages that requests hold in the tree are shared, the others are their own. Pages are
// counted; they have no identity.
#pragma once

#include <cstdint>

#include "simulator/core/allocator.h"
#include "simulator/core/workload.h"
#include "simulator/prefix/radix_pool.h"
#include "simulator/scheduling/sglang/params.h"

namespace kvplan::scheduling::sglang {

class RadixMemory final : public core::Memory {
 public:
  /// `layout`: whole tokens, the allocation unit is the page, no null block. `context_tokens`: the model's context
  /// length. The workload outlives it.
  RadixMemory(const core::Workload& workload, const core::MemoryLayout& layout, std::int64_t context_tokens,
              bool prefix_cache)
      : workload_(workload),
        layout_(layout),
        context_tokens_(context_tokens),
        pool_(layout.alloc_unit_tokens, layout.alloc_units * layout.alloc_unit_tokens, prefix_cache) {}

  [[nodiscard]] const core::MemoryLayout& layout() const override { return layout_; }
  [[nodiscard]] core::PoolCounts counts() const override;
  [[nodiscard]] bool fits_empty(RequestId request) const override;
  [[nodiscard]] bool follows_courses() const override { return false; }

  [[nodiscard]] prefix::RadixPool& pool() { return pool_; }
  [[nodiscard]] const prefix::RadixPool& pool() const { return pool_; }
  /// Prompt plus output of a request must be less than this.
  [[nodiscard]] std::int64_t most_tokens() const {
    return sglang::most_tokens(context_tokens_, pool_.capacity_tokens());
  }

 private:
  const core::Workload& workload_;
  core::MemoryLayout layout_;
  std::int64_t context_tokens_;
  prefix::RadixPool pool_;
};

}  // namespace kvplan::scheduling::sglang
