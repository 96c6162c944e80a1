#include "simulator/model/footprint.h"

#include <algorithm>

#include "simulator/base/units.h"
#include "simulator/model/ranks.h"

namespace kvplan::model {
namespace {

constexpr Wide kMostClusterBytes = Wide{1} << 62;

std::int64_t tokens_held(const LayerCache& cache, const FootprintRequest& request) {
  std::int64_t tokens = request.tokens;
  if (cache.kind == CacheKind::kNone) return 0;
  if (cache.chunked) {
    tokens = tokens == 0 ? 0 : (tokens - 1) % cache.window + 1;
  } else if (cache.window > 0) {
    tokens = std::min(tokens, cache.window);
  }
  return request.kept ? std::min(tokens, *request.kept) : tokens;
}

Result<TokenBytes> bytes_of(const ModelShape& shape, const FootprintRequest& request, const LayerCache& cache,
                            std::int64_t layer) {
  if (cache.kind == CacheKind::kNone) return TokenBytes{};
  TokenBytes bytes{cache.elements() * shape.element_bytes, 0};
  if (request.format) {
    KVPLAN_TRY(bytes, request.format->bytes(cache, shape.element_bytes, layer));
  }
  if (cache.compress_ratio == 0) bytes.elements += cache.indexer_bytes;
  const std::int64_t heads = cache.kind == CacheKind::kHeads ? cache.heads : 1;
  bytes.metadata += heads * request.beside_head_bytes + request.beside_layer_bytes;
  return bytes;
}

/// What a layer keeps of a sequence beside its tokens: vectors of compressed tokens, and its state.
std::int64_t beside_tokens(const LayerCache& cache, const FootprintRequest& request,
                           const TokenBytes& token) {
  if (cache.compress_ratio == 0) return cache.state_bytes;
  return cache.state_bytes + request.tokens / cache.compress_ratio * (token.total() + cache.indexer_bytes);
}

/// What a layer grows by with each token. A window of a compressed cache does not grow with long sequences.
std::int64_t growth(const LayerCache& cache, const TokenBytes& token) {
  return cache.compress_ratio == 0 ? token.total()
                                   : ceil_div(token.total() + cache.indexer_bytes, cache.compress_ratio);
}

Error too_many() {
  return bad_input("expected a sequence of at most 2^62 bytes over all ranks").at_field("--tokens");
}

/// Adds the layers of the shape as `held` describes them, and returns the bytes of the whole model stored once.
Result<Wide> add_held_layers(const ModelShape& shape, const FootprintRequest& request, Footprint& out) {
  Wide once = 0, cluster = 0;
  for (const LayerRun& run : shape.runs)
    for (std::int64_t i = 0; i < run.layers; ++i) {
      const auto number = static_cast<std::int64_t>(out.layers.size());
      LayerFootprint layer{.cache = share_of(run.cache, request.tensor_ranks)};
      HeldBytes whole, held;
      if (run.cache.kind != CacheKind::kNone) {
        KVPLAN_TRY(whole, request.held(run.cache, number));
        KVPLAN_TRY(held, request.held(layer.cache, number));
      }
      whole.bytes += run.cache.state_bytes + run.cache.indexer_bytes * whole.tokens;
      held.bytes += layer.cache.state_bytes + run.cache.indexer_bytes * held.tokens;
      layer.tokens = held.tokens;
      layer.bytes = held.bytes;
      layer.fixed_bytes = layer.cache.state_bytes;
      layer.metadata_bytes = held.metadata_bytes;
      once += whole.bytes;
      cluster += Wide{held.bytes} * request.tensor_ranks;
      if (cluster > kMostClusterBytes) return too_many();
      out.layers.push_back(layer);
    }
  return once;
}

/// Layers in a row that keep as much of a token.
std::vector<LayerRun> alike_layers(const ModelShape& shape, const FootprintRequest& request) {
  if (!request.format || request.format->by_layer.empty()) return shape.runs;
  std::vector<LayerRun> out;
  for (const LayerRun& run : shape.runs)
    out.insert(out.end(), static_cast<std::size_t>(run.layers), LayerRun{1, run.cache});
  return out;
}

/// Adds the layers of the shape, and gives the bytes of the whole model stored once.
Result<Wide> add_layers(const ModelShape& shape, const FootprintRequest& request, Footprint& out) {
  Wide once = 0, cluster = 0, once_per_token = 0;
  for (const LayerRun& run : alike_layers(shape, request)) {
    const auto number = static_cast<std::int64_t>(out.layers.size());
    LayerFootprint layer{.cache = share_of(run.cache, request.tensor_ranks)};
    KVPLAN_TRY(const TokenBytes whole, bytes_of(shape, request, run.cache, number));
    KVPLAN_TRY(const TokenBytes bytes, bytes_of(shape, request, layer.cache, number));
    layer.bytes_per_token = growth(layer.cache, bytes);
    layer.metadata_per_token = bytes.metadata;
    layer.tokens = tokens_held(run.cache, request);
    const Wide beside = beside_tokens(layer.cache, request, bytes);
    once += (Wide{whole.total()} * layer.tokens + beside_tokens(run.cache, request, whole)) * run.layers;
    once_per_token += Wide{growth(run.cache, whole)} * run.layers;
    cluster += (Wide{bytes.total()} * layer.tokens + beside) * run.layers * request.tensor_ranks;
    if (cluster > kMostClusterBytes) return too_many();
    layer.bytes = bytes.total() * layer.tokens + static_cast<std::int64_t>(beside);
    layer.fixed_bytes = layer.cache.state_bytes;
    layer.metadata_bytes = bytes.metadata * layer.tokens;
    if (run.cache.compress_ratio > 0) {
      layer.fixed_bytes += bytes.total() * run.cache.window;
      layer.metadata_per_token = 0;
      layer.metadata_bytes += bytes.metadata * (request.tokens / run.cache.compress_ratio);
    }
    out.layers.insert(out.layers.end(), static_cast<std::size_t>(run.layers), layer);
  }
  out.once_bytes_per_token = static_cast<std::int64_t>(once_per_token);
  return once;
}

void add_stages(const ModelShape& shape, const FootprintRequest& request, Footprint& out) {
  std::int64_t first = 0;
  for (const std::int64_t layers : layers_of_stages(shape.layers, request.stages, request.stage_layers)) {
    StageFootprint stage{.first_layer = first, .layers = layers};
    for (std::int64_t i = first; i < first + layers; ++i) {
      const LayerFootprint& layer = out.layers[static_cast<std::size_t>(i)];
      stage.bytes_per_token += layer.bytes_per_token;
      stage.metadata_per_token += layer.metadata_per_token;
      stage.bytes += layer.bytes;
      stage.metadata_bytes += layer.metadata_bytes;
    }
    first += layers;
    out.cluster_bytes_per_token += stage.bytes_per_token * request.tensor_ranks;
    out.cluster_bytes += stage.bytes * request.tensor_ranks;
    out.stages.push_back(stage);
    const StageFootprint& fullest = out.stages[out.fullest];
    if (stage.bytes > fullest.bytes ||
        (stage.bytes == fullest.bytes && stage.bytes_per_token > fullest.bytes_per_token))
      out.fullest = out.stages.size() - 1;
  }
}

}  // namespace

Result<Footprint> footprint(const ModelShape& shape, const FootprintRequest& request) {
  if (request.stages > shape.layers)
    return bad_input("expected at most as many stages as layers of the model (" +
                     std::to_string(shape.layers) + "), found " + std::to_string(request.stages))
        .at_field("--pp");
  Footprint out;
  KVPLAN_TRY(const Wide once,
             request.held ? add_held_layers(shape, request, out) : add_layers(shape, request, out));
  add_stages(shape, request, out);
  if (request.format && !request.held)
    for (const StageFootprint& stage : out.stages)
      if (stage.bytes_per_token == 0)
        return bad_input("expected a format that stores something for each token, found " +
                         request.format->choice.to_string())
            .at_field(request.format->choice.name());
  const Wide again = Wide{out.cluster_bytes} - once;
  out.replicated_bytes = static_cast<std::int64_t>(std::max(again, Wide{0}));
  const std::int64_t ranks = request.tensor_ranks;
  const auto uneven = std::find_if(shape.runs.begin(), shape.runs.end(), [&](const LayerRun& run) {
    const std::int64_t heads = run.cache.heads;
    return run.cache.kind == CacheKind::kHeads && heads % ranks != 0 && ranks % heads != 0;
  });
  const std::int64_t heads = uneven == shape.runs.end() ? 0 : uneven->cache.heads;
  if (uneven != shape.runs.end())
    out.warnings.push_back(std::to_string(heads) + " KV heads and " + std::to_string(ranks) +
                           " tensor-parallel ranks: neither divides the other, and engines refuse that.");
  else if (!divides_heads(shape, ranks))
    out.warnings.push_back(std::to_string(shape.query_heads) + " heads are not divided by " +
                           std::to_string(ranks) + " tensor-parallel ranks, and engines refuse that.");
  return out;
}

}  // namespace kvplan::model
