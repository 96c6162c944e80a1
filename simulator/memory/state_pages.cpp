#include "simulator/memory/state_pages.h"

#include <string>

#include "simulator/base/units.h"
#include "simulator/model/ranks.h"

namespace kvplan::memory {

Result<StatePage> state_page(const AllocatorRequest& request, std::int64_t token_bytes,
                             std::int64_t metadata_bytes) {
  if (request.prefix_cache)
    return bad_input(
               "the allocator \"grouped\" has no prefix cache for models with states in place of a KV "
               "cache: expected prefix caching off")
        .at_field("engine");
  if (metadata_bytes > 0)
    return bad_input("expected a format without scales beside states in place of a KV cache, found " +
                     std::to_string(metadata_bytes) + " bytes of scales for each token of a layer")
        .at_field("format");
  std::int64_t bytes = 0;
  bool latent = false;
  for (const model::LayerRun& run : request.model->runs) {
    latent = latent || run.cache.kind == model::CacheKind::kLatent;
    if (!run.cache.has_state()) continue;
    const std::int64_t here = model::share_of(run.cache, request.tensor_ranks).state_bytes;
    if (bytes > 0 && here != bytes)
      return bad_input("the allocator \"grouped\" needs equal states in all layers that have one, found " +
                       std::to_string(bytes) + " and " + std::to_string(here) + " bytes")
          .at_field("memory.allocator");
    bytes = here;
  }
  // Blocks of attention kernels: vllm/model_executor/models/config.py, kernel_block_alignment_size.
  const std::int64_t aligned = latent ? 64 : 16;
  return StatePage{.block_tokens = aligned * ceil_div(bytes, aligned * token_bytes),
                   .slots = ceil_div(bytes, token_bytes)};
}

}  // namespace kvplan::memory
