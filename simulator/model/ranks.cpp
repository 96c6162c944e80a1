#include "simulator/model/ranks.h"

#include <algorithm>

#include "simulator/base/units.h"

namespace kvplan::model {
LayerCache share_of(LayerCache cache, std::int64_t tensor_ranks) {
  if (cache.kind == CacheKind::kHeads) cache.heads = std::max<std::int64_t>(1, cache.heads / tensor_ranks);
  if (cache.kind != CacheKind::kLatent)
    cache.state_bytes =
        ceil_div(cache.state_bytes - cache.whole_state_bytes, tensor_ranks) + cache.whole_state_bytes;
  return cache;
}

std::int64_t state_bytes_of(const ModelShape& shape, std::int64_t tensor_ranks) {
  std::int64_t bytes = 0;
  for (const LayerRun& run : shape.runs)
    if (run.cache.has_state()) bytes += run.layers * share_of(run.cache, tensor_ranks).state_bytes;
  return bytes;
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
  KVPLAN_TRY(const std::vector<StageWeights> all, stage_weights(m, ranks, stages));
  std::vector<WeightCounts> out;
  for (const StageWeights& stage : all) out.push_back({stage.weights(), stage.multiplied(), stage.read()});
  return out;
}

}  // namespace kvplan::model
