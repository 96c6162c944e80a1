#include "simulator/model/ranks.h"

#include <algorithm>

#include "simulator/base/units.h"

namespace kvplan::model {
namespace {

/// More weights than any limit on sizes lets through by mistake, and few enough for every sum of them.
constexpr Wide kMostWeights = Wide{1} << 56;

/// Weights of one layer on one rank without feed-forward: the attention projections.
Wide attention_weights(const ModelShape& m, std::int64_t ranks) {
  const WeightShape& w = m.weight_shape;
  const LayerCache cache = share_of(m.runs.front().cache, ranks);
  const Wide hidden = m.hidden, heads = ceil_div(m.query_heads, ranks);
  const Wide output = heads * w.value_size * hidden;
  if (cache.kind == CacheKind::kHeads)
    return hidden * heads * w.key_size + output + hidden * cache.heads * (cache.key_size + cache.value_size);
  const Wide query =
      w.query_rank > 0 ? w.query_rank * (hidden + heads * w.key_size) : hidden * heads * w.key_size;
  const Wide down = hidden * (cache.latent_size + cache.rope_size);
  const Wide up = heads * cache.latent_size * (w.key_size - cache.rope_size + w.value_size);
  return query + down + up + output;
}

struct WideCounts {
  Wide all{0}, multiplied{0}, read{0};
};

/// Weights of the layers first .. first + layers - 1.
WideCounts layer_weights(const ModelShape& m, std::int64_t ranks, std::int64_t first, std::int64_t layers) {
  const WeightShape& w = m.weight_shape;
  const Wide block = Wide{w.matrices} * m.hidden;  // per unit of feed-forward width
  const Wide norms = Wide{2} * m.hidden;
  const Wide dense_layers =
      w.experts > 0 ? std::clamp<std::int64_t>(w.dense_layers - first, 0, layers) : layers;
  const Wide expert_layers = layers - dense_layers;
  const Wide router = Wide{m.hidden} * w.experts;
  const Wide each = layers * (attention_weights(m, ranks) + norms) +
                    dense_layers * block * ceil_div(w.feed_forward, ranks) +
                    expert_layers * (router + block * ceil_div(w.shared_feed_forward, ranks));
  const Wide expert = block * ceil_div(w.expert_feed_forward, ranks);
  const Wide all = each + expert_layers * w.experts * expert;
  return {all, each + expert_layers * w.experts_per_token * expert, all};
}

}  // namespace

LayerCache share_of(LayerCache cache, std::int64_t tensor_ranks) {
  if (cache.kind == CacheKind::kHeads) cache.heads = std::max<std::int64_t>(1, cache.heads / tensor_ranks);
  return cache;
}

bool divides_heads(const ModelShape& shape, std::int64_t ranks) {
  if (shape.query_heads % ranks != 0) return false;
  return std::all_of(shape.runs.begin(), shape.runs.end(), [&](const LayerRun& run) {
    const std::int64_t heads = run.cache.heads;
    return run.cache.kind != CacheKind::kHeads || heads % ranks == 0 || ranks % heads == 0;
  });
}

Status check_ranks(const ModelShape& shape, std::int64_t tensor_ranks, std::int64_t stages) {
  if (stages > shape.layers)
    return bad_input("expected at most as many stages as layers of the model (" +
                     std::to_string(shape.layers) + "), found " + std::to_string(stages))
        .at_field("deployment.pp");
  if (divides_heads(shape, tensor_ranks)) return Done{};
  std::string known;
  for (std::int64_t ranks = 1; ranks <= shape.query_heads; ++ranks)
    if (divides_heads(shape, ranks)) known += (known.empty() ? "" : ", ") + std::to_string(ranks);
  return bad_input("expected ranks that share the " + std::to_string(shape.query_heads) + " heads and " +
                   std::to_string(shape.kv_heads) + " KV heads evenly (" + known +
                   "), as engines ask, found " + std::to_string(tensor_ranks))
      .at_field("deployment.tp");
}

std::vector<std::int64_t> layers_of_stages(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(stages), layers / stages);
  const auto rest = static_cast<std::size_t>(layers % stages);
  for (std::size_t i = 0; i < rest; ++i) ++out[out.size() - 2 - i];
  return out;
}

Result<std::vector<WeightCounts>> weights_of_stages(const ModelShape& m, std::int64_t ranks,
                                                    std::int64_t stages) {
  if (!m.weights_miss.empty())
    return bad_input("the weights of " + m.name + " cannot be counted: " + m.weights_miss).at_field("model");
  const WeightShape& w = m.weight_shape;
  const Wide embedding = Wide{ceil_div(w.vocabulary, ranks)} * m.hidden;
  std::vector<WeightCounts> out;
  std::int64_t first = 0;
  for (const std::int64_t layers : layers_of_stages(m.layers, stages)) {
    WideCounts counts = layer_weights(m, ranks, first, layers);
    const bool last = first + layers == m.layers;
    if (last) {  // the output layer, which is the input embedding where they are tied, and the last norm
      for (Wide* const count : {&counts.all, &counts.multiplied, &counts.read})
        *count += embedding + m.hidden;
    }
    if (first == 0 && !(last && w.tied)) counts.all += embedding;
    if (counts.all > kMostWeights)
      return bad_input("expected a model of at most 2^56 weights, " + m.name + " has more").at_field("model");
    out.push_back({static_cast<std::int64_t>(counts.all), static_cast<std::int64_t>(counts.multiplied),
                   static_cast<std::int64_t>(counts.read)});
    first += layers;
  }
  return out;
}

}  // namespace kvplan::model
