#include "simulator/modelfile/layer_plan.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "simulator/modelfile/layer_kinds.h"
#include "simulator/modelfile/layer_states.h"

namespace kvplan::model {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t kScale = 4;  // bytes of a scale of an indexer's keys

/// KV heads where keys and values are kept by head.
Result<std::int64_t> read_kv_heads(const Config& config, std::int64_t query_heads, Keys keys) {
  KVPLAN_TRY(const auto given, config.maybe(keys, WholeRange{1, query_heads}));
  if (given && query_heads % *given != 0)
    return config.wrong("expected a divisor of the " + std::to_string(query_heads) +
                            " query heads as the number of KV heads, found " + std::to_string(*given),
                        config.present(keys));
  return given.value_or(0);
}

Result<std::int64_t> read_own_kv_heads(const Config& config, std::int64_t query_heads) {
  KVPLAN_TRY(const std::int64_t given,
             read_kv_heads(config, query_heads, {"num_key_value_heads", "num_kv_heads"}));
  KVPLAN_TRY(const auto multi_query, config.flag("multi_query"));
  KVPLAN_TRY(const auto grouped, config.flag("new_decoder_architecture"));
  if (multi_query == true && grouped != true) return std::int64_t{1};
  return given > 0 ? given : query_heads;
}

Result<LayerCache> read_latent(const Config& config, ModelShape& shape, std::int64_t rank) {
  WeightShape& weights = shape.weight_shape;
  LayerCache cache;
  cache.kind = CacheKind::kLatent;
  cache.latent_size = rank;
  KVPLAN_TRY(cache.rope_size, config.whole({"qk_rope_head_dim"}, kMostHeadSize));
  KVPLAN_TRY(const auto plain, config.maybe({"qk_nope_head_dim"}, {1, kMostHeadSize}));
  KVPLAN_TRY(const auto value, config.maybe({"v_head_dim"}, {1, kMostHeadSize}));
  KVPLAN_TRY(weights.query_rank, config.whole_or({"q_lora_rank"}, {1, kMostFeedForward}, 0));
  if (plain && value) {
    weights.key_size = *plain + cache.rope_size;
    weights.value_size = *value;
  }
  // DeepSeek-V3.2: keys of the indexer in fp8, with a scale for each 128 of them (vllm-project/vllm v0.15.1,
  // vllm/model_executor/models/deepseek_v2.py, DeepseekV32IndexerCache).
  constexpr std::int64_t kScaled = 128;
  KVPLAN_TRY(const std::int64_t index, config.whole_or({"index_head_dim"}, {1, kMostHeadSize}, 0));
  if (index > 0) cache.indexer_bytes = index + kScale * ceil_div(index, kScaled);
  if (index > 0) config.claim({"index_head_dim", "index_n_heads"});
  return cache;
}

/// What a layer with full attention keeps. Sizes of query heads go into the weights' shape.
Result<LayerCache> read_cache(const Config& config, ModelShape& shape) {
  WeightShape& weights = shape.weight_shape;
  KVPLAN_TRY(const auto rank, config.maybe({"kv_lora_rank"}, {1, kMostFeedForward}));
  if (rank) return read_latent(config, shape, *rank);
  // Sizes of latent attention without its rank; 0 in the DeepSeek family where nothing is latent.
  for (const char* key : {"qk_rope_head_dim", "qk_nope_head_dim"}) {
    KVPLAN_TRY(const std::int64_t size, config.whole_or({key}, {0, kMostHeadSize}, 0));
    if (size > 0)
      return config.wrong(
          "expected the rank of the latent cache beside " + std::string(key) + ", found nothing",
          "kv_lora_rank");
  }
  LayerCache cache;
  KVPLAN_TRY(cache.heads, read_own_kv_heads(config, shape.query_heads));
  KVPLAN_TRY(const auto size,
             config.maybe({"head_dim", "attention_head_dim", "kv_channels"}, {1, kMostHeadSize}));
  if (!size && shape.hidden % shape.query_heads != 0)
    return config.wrong("expected a head size, because " + std::to_string(shape.hidden) +
                            " (hidden_size) is not divisible by " + std::to_string(shape.query_heads) +
                            " heads",
                        "head_dim");
  cache.key_size = cache.value_size = size.value_or(shape.hidden / shape.query_heads);
  if (cache.key_size > kMostHeadSize)
    return config.wrong("expected heads with at most " + std::to_string(kMostHeadSize) + " elements, found " +
                            std::to_string(cache.key_size),
                        "head_dim");
  // 0 in the DeepSeek family where nothing is latent: as wide as keys.
  KVPLAN_TRY(const std::int64_t value, config.whole_or({"v_head_dim"}, {0, kMostHeadSize}, 0));
  if (value > 0) cache.value_size = value;
  weights.key_size = cache.key_size;
  weights.value_size = cache.value_size;
  return cache;
}

/// MiMo-V2: layers with a window have their own heads.
Result<LayerCache> read_window_heads(const Config& config, const ModelShape& shape, LayerCache cache) {
  KVPLAN_TRY(const std::int64_t heads, read_kv_heads(config, shape.query_heads, {"swa_num_key_value_heads"}));
  if (heads > 0) cache.heads = heads;
  KVPLAN_TRY(cache.key_size, config.whole_or({"swa_head_dim"}, {1, kMostHeadSize}, cache.key_size));
  KVPLAN_TRY(cache.value_size, config.whole_or({"swa_v_head_dim"}, {1, kMostHeadSize}, cache.value_size));
  KVPLAN_TRY(const auto queries, config.maybe({"swa_num_attention_heads"}, {1, kMostHeads}));
  if (queries && *queries != shape.query_heads)
    return config.wrong("expected as many query heads as in other layers (" +
                            std::to_string(shape.query_heads) + "), found " + std::to_string(*queries),
                        "swa_num_attention_heads");
  return cache;
}

/// Gemma 4: layers without a window have their own heads.
Result<LayerCache> read_global_heads(const Config& config, const ModelShape& shape, LayerCache cache) {
  KVPLAN_TRY(const std::int64_t heads,
             read_kv_heads(config, shape.query_heads, {"num_global_key_value_heads"}));
  if (heads > 0) cache.heads = heads;
  KVPLAN_TRY(const auto size, config.maybe({"global_head_dim"}, {1, kMostHeadSize}));
  if (size) cache.key_size = cache.value_size = *size;
  return cache;
}

/// MiniMax-M3: layers with sparse attention keep a key of the indexer, and a value unless that is disabled, in the
/// model's elements (NVIDIA/TensorRT-LLM, MiniMaxM3SparseIndexCache).
Status add_block_indexer(const Config& config, const ModelShape& shape, std::vector<LayerPlan>& layers) {
  const auto sparse = config.inside("sparse_attention_config");
  if (!sparse) return Done{};
  KVPLAN_TRY(const auto used, sparse->flag("use_sparse_attention"));
  KVPLAN_TRY(const std::int64_t size, sparse->whole_or({"sparse_index_dim"}, {1, kMostHeadSize}, 0));
  KVPLAN_TRY(const auto which, sparse->numbers("sparse_attention_freq", {0, 1}));
  KVPLAN_TRY(const auto alone, sparse->numbers("sparse_disable_index_value", {0, 1}));
  if (used == false || size > 0) config.claim({"sparse_attention_config"});
  if (used == false || size == 0) return Done{};
  for (const auto* list : {&which, &alone})
    if (!list->empty() && list->size() != layers.size())
      return sparse->wrong("expected a number for each of " + std::to_string(layers.size()) +
                               " layers, found " + std::to_string(list->size()),
                           list == &which ? "sparse_attention_freq" : "sparse_disable_index_value");
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (which.empty() || which[i] == 1)
      layers[i].cache.indexer_bytes = size * shape.element_bytes * (!alone.empty() && alone[i] == 1 ? 1 : 2);
  return Done{};
}

/// GLM-5.2: layers that use the choice of an earlier layer's indexer keep no keys for one.
Status drop_shared_indexers(const Config& config, std::vector<LayerPlan>& layers) {
  KVPLAN_TRY(const auto types, config.texts("indexer_types"));
  if (types.empty()) return Done{};
  if (types.size() < layers.size())
    return config.wrong(
        "expected a list with one text per layer of " + std::to_string(layers.size()) + " layers",
        "indexer_types");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (types[i] == "shared") layers[i].cache.indexer_bytes = 0;
    if (types[i] != "shared" && types[i] != "full")
      return config.wrong("expected full or shared, found the text " + found_text(types[i]), "indexer_types");
  }
  return Done{};
}

/// Gemma 3n and 4: the last layers use the caches of earlier ones.
Status share_last_layers(const Config& config, std::vector<LayerPlan>& layers) {
  if (!config.text("model_type").starts_with("gemma")) return Done{};
  config.claim({"num_kv_shared_layers"});
  const auto most = static_cast<std::int64_t>(layers.size()) - 1;
  KVPLAN_TRY(const std::int64_t shared, config.whole_or({"num_kv_shared_layers"}, {0, most}, 0));
  for (std::size_t i = layers.size() - static_cast<std::size_t>(shared); i < layers.size(); ++i) {
    layers[i].shares = true;
    layers[i].own = layers[i].cache;
    layers[i].cache = {.kind = CacheKind::kNone};
  }
  return Done{};
}

/// Llama-Nemotron: each block says its KV heads and the width of its feed-forward block, or that it has none.
Result<std::vector<LayerPlan>> read_blocks(const Config& config, const ModelShape& shape,
                                           const LayerCache& base) {
  constexpr const char* kKey = "block_configs";
  dom::array blocks;
  if (config.object()[kKey].get_array().get(blocks) != simdjson::SUCCESS ||
      blocks.size() != static_cast<std::size_t>(shape.layers))
    return config.wrong(
        "expected a list with one block per layer of " + std::to_string(shape.layers) + " layers", kKey);
  std::vector<LayerPlan> out;
  for (const dom::element block : blocks) {
    LayerPlan plan{.cache = base};
    const auto set = [&](const char* part, const char* key) {
      bool value = false;
      return block[part][key].get_bool().get(value) == simdjson::SUCCESS && value;
    };
    std::int64_t shared = 0;
    if (set("attention", "no_op") || set("attention", "replace_with_linear")) {
      plan.cache = {.kind = CacheKind::kNone};
      if (set("attention", "replace_with_linear"))
        plan.mixing = {{.module = "self_attn.linear_attn", .unit_weights = shape.hidden * shape.hidden}};
    } else if (block["attention"]["n_heads_in_group"].get_int64().get(shared) == simdjson::SUCCESS &&
               shared > 0 && shape.query_heads % shared == 0) {
      plan.cache.heads = shape.query_heads / shared;
    } else {
      return config.wrong("expected n_heads_in_group of each layer with attention as a divisor of the " +
                              std::to_string(shape.query_heads) + " heads",
                          kKey);
    }
    double multiple = 0;
    constexpr double kMostMultiple = 1024;
    if (set("ffn", "no_op") || set("ffn", "replace_with_linear")) {
      plan.feed_forward = FeedForward::kNone;
    } else if (block["ffn"]["ffn_mult"].get_double().get(multiple) == simdjson::SUCCESS && multiple > 0 &&
               multiple < kMostMultiple) {
      // nvidia/Llama-3_3-Nemotron-Super-49B-v1, modeling_decilm.py, _ffn_mult_to_intermediate_size.
      constexpr std::int64_t kStep = 256;
      const auto width = static_cast<std::int64_t>(2 * multiple * static_cast<double>(shape.hidden) / 3);
      plan.width = ceil_div(width, kStep) * kStep;
    }
    out.push_back(std::move(plan));
  }
  return out;
}

/// DeepSeek-V4: a window in each layer; beside it one vector for 4 or for 128 tokens, with the state of what
/// compresses them, and at 4 keys of an indexer (vllm-project/vllm, vllm/models/deepseek_v4/attention.py and
/// compressor.py: states are four bytes an element, keys and scores, over twice the tokens where vectors overlap).
Result<std::vector<LayerPlan>> read_compressed(const Config& config, ModelShape& shape) {
  constexpr const char* kKey = "compress_ratios";
  constexpr std::int64_t kOverlapping = 4, kScaled = 128, kFloat = 4;
  KVPLAN_TRY(const auto ratios, config.numbers(kKey, {0, kMostWidth}));
  KVPLAN_TRY(const std::int64_t size, config.whole({"head_dim"}, kMostHeadSize));
  KVPLAN_TRY(const std::int64_t rope, config.whole({"qk_rope_head_dim"}, size));
  KVPLAN_TRY(const std::int64_t window, config.whole({"sliding_window"}, kMostWindow));
  KVPLAN_TRY(const std::int64_t index, config.whole({"index_head_dim"}, kMostHeadSize));
  KVPLAN_TRY(const std::int64_t index_heads, config.whole({"index_n_heads"}, kMostHeads));
  KVPLAN_TRY(const std::int64_t query_rank, config.whole({"q_lora_rank"}, kMostFeedForward));
  KVPLAN_TRY(const std::int64_t output_rank, config.whole({"o_lora_rank"}, kMostFeedForward));
  KVPLAN_TRY(const std::int64_t output_groups, config.whole({"o_groups"}, kMostHeads));
  if (ratios.size() < static_cast<std::size_t>(shape.layers))
    return config.wrong(
        "expected a list with one number per layer of " + std::to_string(shape.layers) + " layers", kKey);
  config.claim({kKey, "compress_rope_theta", "index_head_dim", "index_n_heads"});
  shape.weight_shape.key_size = shape.weight_shape.value_size = size;
  shape.weight_shape.query_rank = query_rank;
  std::vector<LayerPlan> out;
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    const std::int64_t ratio = ratios[static_cast<std::size_t>(i)];
    LayerPlan plan{.cache = {.kind = CacheKind::kLatent,
                             .latent_size = size - rope,
                             .rope_size = rope,
                             .window = window,
                             .compress_ratio = ratio > 1 ? ratio : 0}};
    const auto add = [&](const char* module, Division division, std::int64_t units, std::int64_t unit) {
      plan.mixing.push_back({.module = module, .division = division, .units = units, .unit_weights = unit});
    };
    add("attn.wq_a", Division::kWhole, 1, shape.hidden * query_rank);
    add("attn.wq_b", Division::kShared, shape.query_heads, query_rank * size);
    add("attn.wkv", Division::kWhole, 1, shape.hidden * size);
    add("attn.wo_a", Division::kShared, shape.query_heads, size * output_rank);
    add("attn.wo_b", Division::kShared, output_groups, output_rank * shape.hidden);
    const std::int64_t overlap = ratio == kOverlapping ? 2 : 1;
    if (ratio > 1) {
      plan.cache.state_bytes = overlap * ratio * 2 * overlap * size * kFloat;
      add("attn.compressor.wkv", Division::kWhole, 1, 2 * overlap * shape.hidden * size);
    }
    if (ratio == kOverlapping) {
      plan.cache.indexer_bytes = index + kScale * ceil_div(index, kScaled);
      plan.cache.state_bytes += overlap * ratio * 2 * overlap * index * kFloat;
      add("attn.indexer.wq_b", Division::kWhole, index_heads, query_rank * index);
      add("attn.indexer.weights_proj", Division::kWhole, index_heads, shape.hidden);
      add("attn.indexer.compressor.wkv", Division::kWhole, 1, 2 * overlap * shape.hidden * index);
    }
    out.push_back(std::move(plan));
  }
  return out;
}

/// Layers by the kinds that the config lists.
Result<std::vector<LayerPlan>> read_listed(const Config& config, ModelShape& shape, const LayerCache& base) {
  KVPLAN_TRY(const DeclaredKinds kinds, read_kinds(config, shape.layers));
  LayerCache full = base, window = base;
  std::optional<StateLayer> state;
  KVPLAN_TRY(const std::int64_t size, config.whole_or({"sliding_window"}, {1, kMostWindow}, 0));
  if (base.kind == CacheKind::kHeads) {
    if (config.present({"hybrid_layer_pattern"}) != nullptr) {
      KVPLAN_TRY(window, read_window_heads(config, shape, base));
      config.claim({"swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim", "swa_num_attention_heads",
                    "swa_rope_theta", "sliding_window_size", "attention_chunk_size",
                    "add_swa_attention_sink_bias", "add_full_attention_sink_bias", "attention_value_scale"});
    }
    if (config.text("model_type").starts_with("gemma4")) {
      KVPLAN_TRY(full, read_global_heads(config, shape, base));
      config.claim({"num_global_key_value_heads", "global_head_dim", "attention_k_eq_v"});
    }
  }
  KVPLAN_TRY(const std::int64_t chunk, config.whole_or({"attention_chunk_size"}, {1, kMostWindow}, 0));
  std::vector<LayerPlan> out;
  for (const DeclaredKind kind : kinds.of) {
    LayerPlan plan;
    switch (kind) {
      case DeclaredKind::kFull:
        plan.cache = full;
        break;
      case DeclaredKind::kSliding:
        if (size == 0)
          return config.wrong("expected a window size for the sliding-window layers, found nothing",
                              "sliding_window");
        plan.cache = window;
        plan.cache.window = size;
        break;
      case DeclaredKind::kChunked:
        if (chunk == 0)
          return config.wrong("expected a size of chunks for layers with attention in chunks, found nothing",
                              "attention_chunk_size");
        plan.cache = base;
        plan.cache.window = chunk;
        plan.cache.chunked = true;
        break;
      case DeclaredKind::kState:
      case DeclaredKind::kBoth:
        if (!state) {
          KVPLAN_TRY(state, read_state(config, shape, base.key_size, kinds.key));
        }
        plan.both = kind == DeclaredKind::kBoth;
        if (plan.both) plan.cache = base;
        if (kind == DeclaredKind::kState) plan.cache.kind = CacheKind::kNone;
        plan.cache.state_bytes = state->bytes;
        plan.cache.whole_state_bytes = state->whole_bytes;
        plan.mixing = state->matrices;
        break;
      case DeclaredKind::kExperts:
      case DeclaredKind::kDense:
        plan.cache.kind = CacheKind::kNone;
        break;
    }
    if (kinds.apart) {
      plan.apart = true;
      plan.feed_forward = kind == DeclaredKind::kExperts ? FeedForward::kExperts
                          : kind == DeclaredKind::kDense ? FeedForward::kDense
                                                         : FeedForward::kNone;
    }
    out.push_back(std::move(plan));
  }
  return out;
}

}  // namespace

Result<std::vector<LayerPlan>> plan_layers(const Config& config, ModelShape& shape) {
  std::vector<LayerPlan> layers;
  if (config.present({"compress_ratios"}) != nullptr && config.is_list("compress_ratios") &&
      config.present({"o_lora_rank"}) != nullptr) {
    KVPLAN_TRY(layers, read_compressed(config, shape));
    shape.kv_heads = 1;
    return layers;
  }
  KVPLAN_TRY(const LayerCache base, read_cache(config, shape));
  shape.kv_heads = base.kind == CacheKind::kHeads ? base.heads : 1;
  if (config.present({"block_configs"}) != nullptr) {
    KVPLAN_TRY(layers, read_blocks(config, shape, base));
    return layers;
  }
  KVPLAN_TRY(layers, read_listed(config, shape, base));
  KVPLAN_TRY_DO(share_last_layers(config, layers));
  KVPLAN_TRY_DO(drop_shared_indexers(config, layers));
  KVPLAN_TRY_DO(add_block_indexer(config, shape, layers));
  return layers;
}

}  // namespace kvplan::model
