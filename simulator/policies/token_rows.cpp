#include "simulator/policies/token_rows.h"

namespace kvplan::policies {
namespace {

constexpr std::int64_t kMostTokenBytes = std::int64_t{1} << 30;

void add(std::vector<TensorRows>& rows, std::int64_t row_bytes, std::int64_t tensors) {
  if (row_bytes == 0 || tensors == 0) return;
  if (!rows.empty() && rows.back().row_bytes == row_bytes) {
    rows.back().tensors += tensors;
  } else {
    rows.push_back({row_bytes, tensors});
  }
}

}  // namespace

Result<std::vector<TensorRows>> token_rows(const AllocatorRequest& request) {
  if (request.token_bytes > kMostTokenBytes)
    return bad_input("expected at most 2^30 bytes per token").at_field("model");
  std::vector<TensorRows> rows;
  if (request.model == nullptr) {
    rows.push_back({request.token_bytes, 1});
    return rows;
  }
  const std::int64_t element = request.model->element_bytes;
  for (const model::LayerRun& run : request.model->runs) {
    const model::LayerCache& cache = run.cache;
    const bool latent = cache.kind == model::CacheKind::kLatent;
    if (latent || cache.key_size == cache.value_size) {
      add(rows, element * (latent ? cache.elements() : cache.heads * cache.key_size),
          run.layers * (latent ? 1 : 2));
      continue;
    }
    for (std::int64_t layer = 0; layer < run.layers; ++layer) {
      add(rows, element * cache.heads * cache.key_size, 1);
      add(rows, element * cache.heads * cache.value_size, 1);
    }
  }
  std::int64_t bytes = 0;
  for (const TensorRows& r : rows) bytes += r.row_bytes * r.tensors;
  if (bytes != request.token_bytes)
    return bad_input("this allocator places keys and values as the model computes them on one rank, " +
                     std::to_string(bytes) +
                     " bytes a token; a format, several ranks or data of a token policy " + "make it " +
                     std::to_string(request.token_bytes) + ", which it does not place")
        .at_field("memory.allocator");
  return rows;
}

Result<core::MemoryLayout> byte_layout(const AllocatorRequest& request) {
  if (request.pool.blocks >= 0)
    return bad_input("this allocator has no blocks of tokens; give memory.pool_bytes or memory.pool_tokens")
        .at_field("memory.pool_blocks");
  const Wide capacity =
      request.pool.tokens >= 0 ? Wide{request.pool.tokens} * request.token_bytes : Wide{request.pool.bytes};
  if (capacity > (Wide{1} << 60))
    return bad_input("expected a pool of at most 2^60 bytes").at_field("memory");
  core::MemoryLayout layout;
  layout.token_bytes = request.token_bytes;
  layout.cells_per_token = request.cells_per_token;
  layout.metadata_bytes = request.metadata_bytes;
  layout.returns_quanta = false;
  layout.capacity_bytes = static_cast<std::int64_t>(capacity);
  return layout;
}

}  // namespace kvplan::policies
