#include "simulator/memory/token_rows.h"

#include <algorithm>

#include "simulator/model/ranks.h"

namespace kvplan::memory {
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

Result<std::int64_t> row_bytes(const AllocatorRequest& request, const model::LayerCache& cache,
                               std::int64_t layer) {
  const std::int64_t element = request.model->element_bytes;
  if (request.format == nullptr) return cache.elements() * element;
  KVPLAN_TRY(const model::TokenBytes bytes, request.format->bytes(cache, element, layer));
  return bytes.total();
}

/// Adds the tensors of `layers` equal layers, from layer `first` of the model on.
Status add_layers(const AllocatorRequest& request, const model::LayerCache& cache, std::int64_t first,
                  std::int64_t layers, std::vector<TensorRows>& rows) {
  if (cache.kind == model::CacheKind::kNone) return Done{};
  if (cache.kind == model::CacheKind::kLatent) {
    KVPLAN_TRY(const std::int64_t latent, row_bytes(request, cache, first));
    add(rows, latent + cache.indexer_bytes, layers);
    return Done{};
  }
  model::LayerCache only_keys = cache, only_values = cache;
  only_keys.value_size = only_values.key_size = 0;
  KVPLAN_TRY(const std::int64_t keys, row_bytes(request, only_keys, first));
  KVPLAN_TRY(const std::int64_t values, row_bytes(request, only_values, first));
  if (keys == values) {
    add(rows, keys, 2 * layers);
    return Done{};
  }
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    add(rows, keys, 1);
    add(rows, values, 1);
  }
  return Done{};
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
  const std::int64_t end = request.layers < 0 ? INT64_MAX : request.first_layer + request.layers;
  const bool by_layer = request.format != nullptr && !request.format->by_layer.empty();
  std::int64_t layer = 0;
  for (const model::LayerRun& run : request.model->runs) {
    const std::int64_t from = std::max(layer, request.first_layer);
    layer += run.layers;
    const std::int64_t last = std::min(layer, end);
    const model::LayerCache share = model::share_of(run.cache, request.tensor_ranks);
    for (std::int64_t first = from, alike = 0; first < last; first += alike) {
      alike = by_layer ? 1 : last - first;
      KVPLAN_TRY_DO(add_layers(request, share, first, alike, rows));
    }
  }
  std::int64_t bytes = 0;
  for (const TensorRows& r : rows) bytes += r.row_bytes * r.tensors;
  if (bytes != request.token_bytes)
    return bad_input(
               "this allocator stores keys and values of each layer in separate tensors, together with the "
               "scales of their " +
               std::string("format: ") + std::to_string(bytes) + " bytes per token. This run needs " +
               std::to_string(request.token_bytes) +
               " bytes, because a token policy or sparse attention stores data with each token, or because "
               "keys and values share a byte. This allocator cannot store that")
        .at_field("memory.allocator");
  return rows;
}

Result<core::MemoryLayout> byte_layout(const AllocatorRequest& request) {
  if (request.pool.blocks >= 0)
    return bad_input("this allocator has no blocks of tokens: use memory.pool_bytes or memory.pool_tokens")
        .at_field("memory.pool_blocks");
  const Wide capacity =
      request.pool.tokens >= 0 ? Wide{request.pool.tokens} * request.token_bytes : Wide{request.pool.bytes};
  if (capacity > (Wide{1} << 60))
    return bad_input("expected a pool of at most 2^60 bytes").at_field("memory");
  core::MemoryLayout layout;
  layout.token_bytes = request.token_bytes;
  layout.cells_per_token = request.cells_per_token;
  layout.metadata_bytes = request.metadata_bytes;
  layout.capacity_bytes = static_cast<std::int64_t>(capacity);
  return layout;
}

}  // namespace kvplan::memory
