#include "simulator/scheduling/vllm/replay/pool.h"

#include <array>
#include <string>

#include "simulator/base/check.h"
#include "simulator/memory/allocators.h"
#include "simulator/scheduling/replay/id_crc.h"

namespace kvplan::replays {

Status check_block(const core::Workload& workload, const CacheOptions& options) {
  if (!workload.prefix->present() || workload.prefix->block_tokens % options.block_tokens == 0) return Done{};
  return bad_input("expected a divisor of the trace's hash block of " +
                   std::to_string(workload.prefix->block_tokens) + " tokens, found " +
                   std::to_string(options.block_tokens))
      .at_field("--block-tokens");
}

Result<std::unique_ptr<core::Allocator>> make_vllm_pool(const core::Workload& workload,
                                                        const CacheOptions& options) {
  KVPLAN_TRY_DO(check_at_least(options.block_tokens, 1, "--block-tokens"));
  KVPLAN_TRY_DO(check_at_least(options.blocks, 2, "--blocks"));
  KVPLAN_TRY_DO(check_block(workload, options));
  KVPLAN_TRY(const Choice choice, make_choice(memory::kPagedAllocator.descriptor.name,
                                              std::array{std::pair<std::string, std::string>{
                                                  "block_tokens", std::to_string(options.block_tokens)}},
                                              "allocator", memory::allocator_descriptors()));
  const memory::AllocatorRequest request{.workload = &workload,
                                         .pool = {.blocks = options.blocks},
                                         .token_bytes = 1,
                                         .prefix_cache = options.prefix_cache,
                                         .max_model_len = options.scheduler.max_model_len};
  const auto& entry = memory::allocator_entry(choice);
  return options.step_by_step ? entry.make_model(choice, request) : entry.make(choice, request);
}

std::uint32_t table_crc32(std::span<const BlockId> table, std::uint32_t before) {
  for (const BlockId block : table)
    before = id_crc32(before, block == kNoBlock ? 0 : static_cast<std::uint32_t>(block));
  return before;
}

core::Contents& contents_of(core::Allocator& pool) {
  core::Contents* const contents = pool.contents();
  KVPLAN_CHECK(contents != nullptr, pool.layout().alloc_units);
  return *contents;
}

}  // namespace kvplan::replays
