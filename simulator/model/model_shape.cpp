#include "simulator/model/model_shape.h"

#include "simulator/model/ranks.h"

namespace kvplan::model {

std::int64_t ModelShape::kv_token_bytes() const {
  std::int64_t elements = 0;
  std::int64_t indexer = 0;
  for (const LayerRun& run : runs) {
    elements += run.layers * run.cache.elements();
    if (run.cache.compress_ratio == 0) indexer += run.layers * run.cache.indexer_bytes;
  }
  return elements * element_bytes + indexer;
}

std::optional<std::int64_t> ModelShape::unshared_token_bytes() const {
  if (runs.empty() || runs.front().cache.kind != CacheKind::kLatent || weight_shape.value_size == 0)
    return std::nullopt;
  return layers * query_heads * (weight_shape.key_size + weight_shape.value_size) * element_bytes;
}

std::int64_t ModelShape::window_layers() const {
  std::int64_t count = 0;
  for (const LayerRun& run : runs) count += run.cache.window > 0 && !run.cache.chunked ? run.layers : 0;
  return count;
}

std::int64_t ModelShape::state_layers() const {
  std::int64_t count = 0;
  for (const LayerRun& run : runs) count += run.cache.has_state() ? run.layers : 0;
  return count;
}

std::int64_t ModelShape::attention_layers() const {
  if (state_layers() == 0) return layers;
  std::int64_t count = 0;
  for (const LayerRun& run : runs) count += run.cache.kind != CacheKind::kNone ? run.layers : 0;
  return count;
}

Result<WeightCounts> ModelShape::weights() const {
  KVPLAN_TRY(const std::vector<WeightCounts> stages, weights_of_stages(*this, 1, 1));
  return stages.front();
}

}  // namespace kvplan::model
