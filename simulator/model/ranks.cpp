#include "simulator/model/ranks.h"

#include <algorithm>
#include <numeric>

#include "simulator/base/check.h"
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

Status check_ranks(const ModelShape& shape, std::int64_t tensor_ranks, std::int64_t stages,
                   const StageLayers& given) {
  if (stages > shape.layers)
    return bad_input("expected at most as many stages as layers of the model (" +
                     std::to_string(shape.layers) + "), found " + std::to_string(stages))
        .at_field("deployment.pp");
  if (!given.empty() && std::ssize(given) != stages)
    return bad_input("expected the layers of each of " + std::to_string(stages) + " stages, found " +
                     std::to_string(given.size()) + " numbers")
        .at_field("deployment.pp_layers");
  if (const auto sum = std::accumulate(given.begin(), given.end(), std::int64_t{0});
      !given.empty() && sum != shape.layers)
    return bad_input("expected numbers with the sum " + std::to_string(shape.layers) +
                     ", the layers of the model, found the sum " + std::to_string(sum))
        .at_field("deployment.pp_layers");
  if (divides_heads(shape, tensor_ranks)) return Done{};
  std::string known;
  for (std::int64_t ranks = 1; ranks <= shape.query_heads; ++ranks)
    if (divides_heads(shape, ranks)) known += (known.empty() ? "" : ", ") + std::to_string(ranks);
  return bad_input("expected ranks that share the " + std::to_string(shape.query_heads) + " heads and " +
                   std::to_string(shape.kv_heads) + " KV heads evenly (" + known +
                   "), as engines ask, found " + std::to_string(tensor_ranks))
      .at_field("deployment.tp");
}

StageLayers layers_of_stages(std::int64_t layers, std::int64_t stages, const StageLayers& given) {
  KVPLAN_CHECK(given.empty() || std::ssize(given) == stages);
  if (!given.empty()) return given;
  StageLayers out(static_cast<std::size_t>(stages), layers / stages);
  const auto rest = static_cast<std::size_t>(layers % stages);
  for (std::size_t i = 0; i < rest; ++i) ++out[out.size() - 2 - i];
  return out;
}

StageLayers last_stages_longer(std::int64_t layers, std::int64_t stages) {
  StageLayers out(static_cast<std::size_t>(stages), layers / stages);
  const auto rest = static_cast<std::ptrdiff_t>(layers % stages);
  std::for_each(out.end() - rest, out.end(), [](std::int64_t& each) { ++each; });
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
