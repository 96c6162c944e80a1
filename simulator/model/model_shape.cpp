#include "simulator/model/model_shape.h"

#include "simulator/base/units.h"

namespace kvplan::model {
namespace {

/// More weights than any limit on sizes lets through by mistake, and few enough for every sum of them.
constexpr std::int64_t kMostWeights = std::int64_t{1} << 56;

/// Of one layer, without feed-forward: projections of attention.
Wide attention_weights(const ModelShape& m) {
  const WeightShape& w = m.weight_shape;
  const LayerCache& cache = m.runs.front().cache;
  const Wide hidden = m.hidden, heads = m.query_heads;
  const Wide output = heads * w.value_size * hidden;
  if (cache.kind == CacheKind::kHeads)
    return hidden * heads * w.key_size + output + hidden * cache.heads * (cache.key_size + cache.value_size);
  const Wide query =
      w.query_rank > 0 ? w.query_rank * (hidden + heads * w.key_size) : hidden * heads * w.key_size;
  const Wide down = hidden * (cache.latent_size + cache.rope_size);
  const Wide up = heads * cache.latent_size * (w.key_size - cache.rope_size + w.value_size);
  return query + down + up + output;
}

}  // namespace

std::int64_t ModelShape::kv_token_bytes() const {
  std::int64_t elements = 0;
  for (const LayerRun& run : runs) elements += run.layers * run.cache.elements();
  return elements * element_bytes;
}

std::optional<std::int64_t> ModelShape::unshared_token_bytes() const {
  if (runs.empty() || runs.front().cache.kind != CacheKind::kLatent || weight_shape.value_size == 0)
    return std::nullopt;
  return layers * query_heads * (weight_shape.key_size + weight_shape.value_size) * element_bytes;
}

std::int64_t ModelShape::window_layers() const {
  std::int64_t count = 0;
  for (const LayerRun& run : runs) count += run.cache.window > 0 ? run.layers : 0;
  return count;
}

Result<WeightCounts> ModelShape::weights() const {
  if (!weights_miss.empty())
    return bad_input("the weights of " + name + " cannot be counted: " + weights_miss).at_field("model");
  const WeightShape& w = weight_shape;
  const Wide block = Wide{w.matrices} * hidden;  // of one unit of feed-forward width
  const Wide norms = Wide{2} * hidden;
  const Wide attention = attention_weights(*this);
  const Wide dense_layers = w.experts > 0 ? w.dense_layers : layers;
  const Wide expert_layers = layers - dense_layers;
  const Wide router = Wide{hidden} * w.experts;
  const Wide each_layer = layers * (attention + norms) + dense_layers * block * w.feed_forward +
                          expert_layers * (router + block * w.shared_feed_forward);
  const Wide expert = block * w.expert_feed_forward;
  const Wide embedding = Wide{w.vocabulary} * hidden;
  const Wide read = each_layer + expert_layers * w.experts * expert + embedding + hidden;
  const Wide multiplied = each_layer + expert_layers * w.experts_per_token * expert + embedding + hidden;
  const Wide all = w.tied ? read : read + embedding;
  if (all > kMostWeights)
    return bad_input("expected a model of at most 2^56 weights, " + name + " has more").at_field("model");
  return WeightCounts{static_cast<std::int64_t>(all), static_cast<std::int64_t>(multiplied),
                      static_cast<std::int64_t>(read)};
}

}  // namespace kvplan::model
