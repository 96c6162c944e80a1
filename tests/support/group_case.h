// Random serving problems on one pool for groups of layers: models with windows of several lengths, shorter and
// longer than blocks, chunks and requests; some models also have layers with states.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/random_case.h"

namespace kvplan::test {

/// Layers that differ only in their windows, of which there are at most four.
inline model::ModelShape draw_windows(Random& random, std::int64_t longest) {
  model::ModelShape shape;
  shape.name = "drawn";
  const std::int64_t heads = random.between(1, 3);
  std::vector<std::int64_t> windows{0};
  for (std::int64_t kinds = random.between(0, 4); kinds > 0; --kinds)
    windows.push_back(random.chance(1, 3) ? random.between(1, 9) : random.between(1, longest));
  for (std::int64_t runs = random.between(1, 8); runs > 0; --runs) {
    const std::int64_t layers = random.between(1, random.chance(1, 3) ? 7 : 2);
    shape.runs.push_back(
        {layers,
         {.heads = heads, .key_size = 4, .value_size = 4, .window = windows[random.below(windows.size())]}});
    shape.layers += layers;
  }
  return shape;
}

/// Gives a third of the models layers with states, alone or beside keys and values. At most three windows stay: a
/// block of states is a kind of its own.
inline void add_states(Random& random, model::ModelShape& shape) {
  if (model::windows_of(shape).size() > 3 || !random.chance(1, 3)) return;
  const std::int64_t bytes = random.between(1, random.chance(1, 2) ? 60 : 900);
  for (std::int64_t runs = random.between(1, 3); runs > 0; --runs) {
    const auto at = static_cast<std::ptrdiff_t>(random.below(shape.runs.size() + 1));
    const std::int64_t layers = random.between(1, 6);
    shape.runs.insert(shape.runs.begin() + at,
                      {layers, {.kind = model::CacheKind::kNone, .state_bytes = bytes}});
    shape.layers += layers;
  }
  if (random.chance(1, 4))
    for (model::LayerRun& run : shape.runs) run.cache.state_bytes = bytes;
}

/// Layers of [first, end) that store something of each token.
inline std::int64_t token_layers(const model::ModelShape& shape, std::int64_t first, std::int64_t end) {
  std::int64_t layers = 0, at = 0;
  for (const model::LayerRun& run : shape.runs)
    for (std::int64_t i = 0; i < run.layers; ++i, ++at)
      layers += at >= first && at < end && run.cache.kind != model::CacheKind::kNone ? 1 : 0;
  return layers;
}

/// `finds_prefixes`: some prefixes can be hit; in more than half of the cases, those of other requests.
inline std::unique_ptr<RandomCase> draw_group_case(std::uint64_t seed, bool finds_prefixes = false) {
  auto result = draw_case(seed);
  RandomCase& c = *result;
  const traces::PrefixHashes* const drawn = c.prefix.present() ? &c.prefix : nullptr;
  const traces::PrefixHashes* const prefix = c.workload.own_prefix ? c.workload.own_prefix.get() : drawn;
  Random random(seed, "group case");
  std::int64_t most = 1;
  for (const RequestId r : ids_below<RequestId>(c.workload.size()))
    most = std::max(most, c.workload.final_tokens(r));
  model::ModelShape shape = draw_windows(random, most + 20);
  const std::int64_t layer_bytes = shape.kv_token_bytes() / shape.layers;
  Random of_states(seed, "states");
  if (!finds_prefixes) add_states(of_states, shape);
  const bool states = shape.state_layers() > 0;
  constexpr std::array<std::int64_t, 7> kBlocks{1, 2, 3, 4, 8, 16, 32};
  std::int64_t block = kBlocks[random.below(kBlocks.size())];
  if (finds_prefixes && c.prefix.present())  // a divisor of the trace's block size
    while (c.prefix.block_tokens % block != 0) block = kBlocks[random.below(kBlocks.size())];
  c.allocator = "grouped:block_tokens=" + std::to_string(block);
  if (random.chance(1, 3)) {  // the layers of a pipeline stage
    c.first_layer = random.between(0, shape.layers - 1);
    c.layers = random.between(1, shape.layers - c.first_layer);
    if (token_layers(shape, c.first_layer, c.first_layer + c.layers) == 0) {
      c.first_layer = 0;
      c.layers = -1;
    }
  }
  const std::int64_t layers =
      token_layers(shape, c.first_layer, c.layers < 0 ? shape.layers : c.first_layer + c.layers);
  c.token_bytes = layer_bytes * layers;
  if (random.chance(1, 3) && !states) {  // scales
    c.metadata_bytes = layers * random.between(1, 3);
    c.token_bytes += c.metadata_bytes;
  }
  c.cells_per_token = 1;
  c.keep = {};
  c.workload.prefix = finds_prefixes ? prefix : nullptr;
  c.prefix_cache = finds_prefixes;
  c.model = std::make_shared<model::ModelShape>(shape);
  c.step_tokens = c.scheduler.token_budget;
  if (c.scheduler.long_prefill_threshold > 0)
    c.step_tokens = std::min(c.step_tokens, c.scheduler.long_prefill_threshold);
  const model::LayerGroups laid = model::layer_groups(shape);
  const auto groups = static_cast<std::int64_t>(laid.groups.size());
  for (const model::LayerRun& run : shape.runs)  // a state fits into a block
    if (states) block = std::max(block, 16 * ceil_div(run.cache.state_bytes, 16 * layer_bytes));
  const std::int64_t least = ceil_div(most, block) * groups + laid.states.blocks + 1;
  c.pool = {};
  if (random.chance(1, 2)) {
    c.pool.blocks = std::max<std::int64_t>(
        random.chance(1, 3) ? random.between(2, least) : random.between(least, 3 * least), 2);
  } else {
    c.pool.bytes =
        c.token_bytes * (2 * block * groups + random.between(most, 4 * most)) + random.between(0, 99);
    if (states) c.pool.bytes += random.between(0, 3) * laid.states.blocks * block * laid.size * layer_bytes;
  }
  const std::string latency = "affine:base_ns=" + std::to_string(random.between(0, 300)) +
                              ",token_ns=" + std::to_string(random.between(0, 20)) +
                              ",context_ns=" + std::to_string(random.between(0, 3)) + ".3";
  const std::string roof = "roofline:flops=1e" + std::to_string(random.between(9, 12)) + ",bandwidth=1e" +
                           std::to_string(random.between(9, 12)) + ",overhead_ns=3";
  // The roofline needs the number of weights; this uses those of some model, with these layers.
  model::ModelShape weighed = *model::find_model("llama-2-7b").value();
  const Choice choice =
      parse_component(random.chance(1, 4) ? roof : latency, "latency", latency::latency_descriptors())
          .value();
  weighed.runs = shape.runs;
  weighed.layers = shape.layers;
  c.latency = latency::latency_entry(choice).make(choice, latency::LatencyRequest::one_rank(weighed)).value();
  return result;
}

}  // namespace kvplan::test
