// Random serving problems on allocators with allocation units that are not whole tokens, for models with different
// layers.
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "simulator/model/kv_format.h"
#include "tests/support/random_case.h"

namespace kvplan::test {

struct ByteCase {
  std::unique_ptr<RandomCase> run;
  model::ModelShape shape;
  std::vector<std::int64_t> rows;  ///< bytes of a token in each tensor
  std::shared_ptr<const model::KvFormat> format{};
  std::int64_t scale_bytes{0};  ///< of a token
};

/// Sometimes draws a format, several ranks, or a stage with only some layers: computes the rows of a token anew, by the
/// rules of model/kv_format.h and model/ranks.h.
inline void draw_part(Random& random, ByteCase& c) {
  struct Bits {
    std::int64_t element, group, scale;  // bits, elements, bytes with the zero point
  };
  Bits bits{16, 0, 0};
  if (random.chance(1, 2)) {
    const std::int64_t group = random.between(1, 12);
    const bool four = random.chance(1, 2);
    bits = {four ? 4 : 8, group, 3};
    c.format = std::make_shared<const model::KvFormat>(
        parse_component(
            (four ? "int4:group=" : "int8:group=") + std::to_string(group) + ",scale_bytes=2,zero_bytes=1",
            "format", model::format_descriptors())
            .value());
  }
  const std::int64_t ranks = random.chance(1, 2) ? 1 : random.between(2, 5);
  const std::int64_t first = random.chance(1, 2) ? 0 : random.between(0, c.shape.layers - 1);
  const std::int64_t layers =
      random.chance(1, 2) ? c.shape.layers - first : random.between(1, c.shape.layers - first);
  c.rows.clear();
  c.scale_bytes = 0;
  const auto add = [&](std::int64_t vectors, std::int64_t size) {
    const std::int64_t scales = bits.group > 0 ? vectors * ceil_div(size, bits.group) * bits.scale : 0;
    const std::int64_t row = ceil_div(vectors * size * bits.element, 8) + scales;
    c.scale_bytes += scales;
    if (row > 0) c.rows.push_back(row);
  };
  std::int64_t layer = 0;
  for (const model::LayerRun& run : c.shape.runs) {
    for (std::int64_t i = 0; i < run.layers; ++i, ++layer) {
      if (layer < first || layer >= first + layers) continue;
      if (run.cache.kind == model::CacheKind::kLatent) {
        add(1, run.cache.latent_size + run.cache.rope_size);
      } else {
        const std::int64_t heads = std::max<std::int64_t>(run.cache.heads / ranks, 1);
        add(heads, run.cache.key_size);
        add(heads, run.cache.value_size);
      }
    }
  }
  c.run->format = c.format.get();
  c.run->tensor_ranks = ranks;
  c.run->first_layer = first;
  c.run->layers = layers;
  c.run->metadata_bytes = c.scale_bytes;
}

/// One to three kinds of layers; the longest row is about `row_bytes` long.
inline void draw_model(Random& random, std::int64_t row_bytes, ByteCase& c) {
  const std::int64_t heads = std::max<std::int64_t>(row_bytes / 8 / 2, 1);
  c.shape.name = "drawn";
  for (std::int64_t run = random.between(1, 3); run > 0; --run) {
    model::LayerCache cache;
    const std::int64_t layers = random.between(1, 3);
    if (random.chance(1, 4)) {
      cache.kind = model::CacheKind::kLatent;
      cache.latent_size = random.between(1, heads * 8);
      cache.rope_size = random.between(0, 9);
      c.rows.insert(c.rows.end(), static_cast<std::size_t>(layers),
                    2 * (cache.latent_size + cache.rope_size));
    } else {
      cache.heads = random.between(1, heads);
      cache.key_size = 8;
      cache.value_size = random.chance(1, 3) ? 5 : 8;
      for (std::int64_t i = 0; i < layers; ++i) {
        c.rows.push_back(2 * cache.heads * cache.key_size);
        c.rows.push_back(2 * cache.heads * cache.value_size);
      }
    }
    c.shape.layers += layers;
    c.shape.runs.push_back({layers, cache});
  }
}

inline ByteCase draw_byte_case(std::uint64_t seed) {
  ByteCase c;
  c.run = draw_case(seed);
  Random random(seed, "byte case");
  RandomCase& run = *c.run;
  std::int64_t most = 1;
  for (const RequestId r : ids_below<RequestId>(run.workload.size()))
    most = std::max(most, run.workload.final_tokens(r));
  bool one_tensor = false;
  const auto pick = [&](std::vector<const char*> values) { return values[random.below(values.size())]; };
  if (random.chance(1, 2)) {
    const std::string page = pick({"64", "64", "128", "2048"});
    draw_model(random, parse_integer(page).value() * 1024 / random.between(1, 40), c);
    run.allocator = "vmm:page_kib=" + page + ",reclaim=" + pick({"deferred", "eager"}) +
                    ",overlap=" + pick({"true", "false"}) +
                    ",map_us=" + pick({"0", "0.003", "0.7", "published"}) +
                    ",unmap_us=" + pick({"0", "0.001", "2"});
  } else {
    draw_model(random, random.between(1, 120) * 1024, c);
    const bool layers = random.chance(2, 3);
    run.allocator = std::string("caching:reserve=") + pick({"oracle", "max", "pow2"}) +
                    ",per=" + (layers ? "layer" : "request") +
                    ",expandable_segments=" + pick({"true", "false"}) +
                    ",roundup_power2_divisions=" + pick({"off", "4"}) +
                    ",max_split_size_mb=" + pick({"unlimited", "unlimited", "25"}) +
                    ",garbage_collection_threshold=" + pick({"0", "0.6"});
    if (random.chance(2, 3))
      run.scheduler.max_model_len = std::min<std::int64_t>(run.scheduler.max_model_len, 2 * most);
    one_tensor = !layers;
  }
  draw_part(random, c);
  run.token_bytes = std::accumulate(c.rows.begin(), c.rows.end(), std::int64_t{0});
  if (one_tensor) c.rows = {run.token_bytes};
  run.pool = {.bytes = run.token_bytes * random.between(most, 5 * most + 40) + random.between(0, 30 << 20)};
  run.workload.prefix = nullptr;
  run.prefix_cache = false;
  run.model = std::make_shared<model::ModelShape>(c.shape);
  return c;
}

}  // namespace kvplan::test
