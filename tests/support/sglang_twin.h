// Either implementation of SGLang's engine, on its own memory, for tests that run both.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "simulator/scheduling/sglang/naive_memory.h"
#include "simulator/scheduling/sglang/radix_memory.h"
#include "simulator/scheduling/sglang/replicas.h"

namespace kvplan::test {

class SglangTwin {
 public:
  SglangTwin(bool naive, const core::Workload& workload, const core::MemoryLayout& layout,
             bool prefix_cache) {
    if (naive) {
      naive_.emplace(workload, layout, kContext, prefix_cache);
    } else {
      fast_.emplace(workload, layout, kContext, prefix_cache);
    }
  }
  [[nodiscard]] const core::Memory& memory() const {
    if (naive_) return *naive_;
    return *fast_;
  }
  [[nodiscard]] std::unique_ptr<core::Replica> replica(const core::ReplicaSetup& setup,
                                                       const scheduling::sglang::Params& params) {
    return naive_ ? scheduling::sglang::make_naive_replica(setup, params, *naive_)
                  : scheduling::sglang::make_fast_replica(setup, params, *fast_);
  }
  /// Violated invariants of its tree; the naive tree has none that could be violated.
  [[nodiscard]] std::string violation() const {
    return naive_ ? std::string() : fast_->pool().tree().violation();
  }

 private:
  static constexpr std::int64_t kContext = scheduling::sglang::kLongestContext;

  std::optional<scheduling::sglang::RadixMemory> fast_;
  std::optional<scheduling::sglang::NaiveMemory> naive_;
};

/// The layout of a pool of tokens in pages.
inline core::MemoryLayout sglang_layout(std::int64_t page_tokens, std::int64_t pool_tokens,
                                        std::int64_t token_bytes = 1, std::int64_t metadata_bytes = 0) {
  core::MemoryLayout layout;
  layout.alloc_unit_tokens = page_tokens;
  layout.token_bytes = token_bytes + metadata_bytes;
  layout.metadata_bytes = metadata_bytes;
  layout.capacity_bytes = pool_tokens * layout.token_bytes;
  layout.alloc_units = pool_tokens / page_tokens;
  layout.ids = core::AllocUnitIds::kTree;
  return layout;
}

}  // namespace kvplan::test
