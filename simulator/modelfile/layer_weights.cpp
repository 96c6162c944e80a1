#include "simulator/modelfile/layer_weights.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "simulator/model/latent_weights.h"
#include "simulator/modelfile/quantisation.h"
#include "simulator/modelfile/vision.h"

namespace kvplan::model {
namespace {

/// Names of modules in repositories of this family.
struct ModuleNames {
  std::string_view dense{"mlp.down_proj"};
  std::string_view experts{"mlp.experts.0.down_proj"};
  std::string_view shared{"mlp.shared_experts.down_proj"};
};

ModuleNames names_of(std::string_view type) {
  if (type.starts_with("minimax") || type == "mixtral")
    return {.experts = "block_sparse_moe.experts.0.w2",
            .shared = "block_sparse_moe.shared_experts.down_proj"};
  if (type.starts_with("qwen")) return {.shared = "mlp.shared_expert.down_proj"};
  if (type.starts_with("llama4"))
    return {.dense = "feed_forward.down_proj",
            .experts = "feed_forward.experts.down_proj",
            .shared = "feed_forward.shared_expert.down_proj"};
  if (type == "nemotron_h")
    return {.dense = "mixer.down_proj",
            .experts = "mixer.experts.0.down_proj",
            .shared = "mixer.shared_experts.down_proj"};
  if (type.starts_with("deepseek_v4") || type == "deepseek_ref")
    return {.dense = "ffn.w2", .experts = "ffn.experts.0.w2", .shared = "ffn.shared_experts.w2"};
  return {};
}

struct Experts {
  std::int64_t latent{0};                ///< size of what experts work on, where that is not the hidden size
  std::vector<FeedForward> of_layers{};  ///< dense or experts
};

/// Which layers have experts. Sets what is missing where the config says so in a way that kvplan does not read.
Result<std::vector<FeedForward>> read_sparse_layers(const Config& config, ModelShape& shape) {
  for (const char* key : {"moe_layers_enum", "moe_layer_interval", "moe_layer_start_index",
                          "moe_every_k_layers", "num_dense_layers", "moe_layers"})
    if (config.present({key}) != nullptr)
      shape.weights_miss = "kvplan does not read which layers have experts (" + std::string(key) + ")";
  const auto count = static_cast<std::size_t>(shape.layers);
  std::vector<FeedForward> out(count, FeedForward::kExperts);
  KVPLAN_TRY(const auto types, config.texts("mlp_layer_types"));
  if (!types.empty()) {
    if (types.size() < count)
      return config.wrong("expected a list with one text per layer of " + std::to_string(count) + " layers",
                          "mlp_layer_types");
    for (std::size_t i = 0; i < count; ++i)
      if (types[i] == "dense") out[i] = FeedForward::kDense;
    return out;
  }
  if (config.is_list("moe_layer_freq")) {
    KVPLAN_TRY(const auto which, config.numbers("moe_layer_freq", {0, 1}));
    if (which.size() < count)
      return config.wrong("expected a list with one number per layer of " + std::to_string(count) + " layers",
                          "moe_layer_freq");
    for (std::size_t i = 0; i < count; ++i)
      if (which[i] == 0) out[i] = FeedForward::kDense;
    return out;
  }
  KVPLAN_TRY(const std::int64_t first, config.whole_or({"first_k_dense_replace"}, {0, kMostLayers}, 0));
  KVPLAN_TRY(const std::int64_t from_zero, config.whole_or({"moe_layer_freq"}, {1, kMostLayers}, 1));
  KVPLAN_TRY(const std::int64_t from_one,
             config.whole_or({"decoder_sparse_step", "interleave_moe_layer_step"}, {1, kMostLayers}, 1));
  KVPLAN_TRY(const auto dense, config.numbers("mlp_only_layers", {0, kMostLayers}));
  KVPLAN_TRY(const std::int64_t period, config.whole_or({"expert_layer_period"}, {1, kMostLayers}, 1));
  KVPLAN_TRY(const std::int64_t offset, config.whole_or({"expert_layer_offset"}, {0, period - 1}, 0));
  for (std::size_t i = 0; i < count; ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    if (layer < first || layer % from_zero != 0 || (layer + 1) % from_one != 0 || layer % period != offset)
      out[i] = FeedForward::kDense;
    if (std::find(dense.begin(), dense.end(), layer) != dense.end()) out[i] = FeedForward::kDense;
  }
  return out;
}

Result<Experts> read_experts(const Config& config, ModelShape& shape) {
  WeightShape& w = shape.weight_shape;
  Experts out;
  KVPLAN_TRY(w.experts,
             config.whole_or({"n_routed_experts", "num_experts", "num_local_experts"}, {0, kMostExperts}, 0));
  if (w.experts == 0) return out;
  KVPLAN_TRY(w.experts_per_token,
             config.whole_or({"num_experts_per_tok", "moe_topk", "top_k_experts"}, {1, w.experts}, 0));
  KVPLAN_TRY(w.expert_feed_forward, config.whole_or({"moe_intermediate_size", "expert_intermediate_size"},
                                                    {1, kMostFeedForward}, 0));
  if (w.expert_feed_forward == 0) w.expert_feed_forward = w.feed_forward;
  const bool llama4 = config.text("model_type").starts_with("llama4");
  KVPLAN_TRY(const std::int64_t shared,
             config.whole_or({"n_shared_experts", "num_shared_experts"}, {0, kMostExperts}, llama4 ? 1 : 0));
  KVPLAN_TRY(w.shared_feed_forward,
             config.whole_or({"moe_shared_expert_intermediate_size", "shared_expert_intermediate_size",
                              "share_expert_dim", "shared_intermediate_size"},
                             {0, kMostFeedForward}, shared * w.expert_feed_forward));
  // Of dense layers, where intermediate_size is that of experts.
  KVPLAN_TRY(w.feed_forward, config.whole_or({"dense_intermediate_size", "intermediate_size_mlp"},
                                             {1, kMostFeedForward}, w.feed_forward));
  KVPLAN_TRY(out.latent, config.whole_or({"moe_latent_size"}, {1, kMostWidth}, 0));
  KVPLAN_TRY(out.of_layers, read_sparse_layers(config, shape));
  if (w.experts_per_token == 0) shape.weights_miss = "num_experts_per_tok is missing";
  w.dense_layers =
      std::find(out.of_layers.begin(), out.of_layers.end(), FeedForward::kExperts) - out.of_layers.begin();
  return out;
}

void add_attention(const Config& config, const ModelShape& m, const LayerCache& cache, bool shares,
                   std::vector<WeightMatrix>& out) {
  const WeightShape& w = m.weight_shape;
  const auto add = [&](const char* module, Division division, std::int64_t units, std::int64_t unit_weights) {
    out.push_back({.module = module, .division = division, .units = units, .unit_weights = unit_weights});
  };
  if (cache.kind == CacheKind::kLatent) {
    add_latent_projections(m, cache, out);
    add("self_attn.o_proj", Division::kShared, m.query_heads, w.value_size * m.hidden);
    const auto heads = config.whole_or({"index_n_heads"}, {1, kMostHeads}, 0);
    const auto size = config.whole_or({"index_head_dim"}, {1, kMostHeadSize}, 0);
    if (cache.indexer_bytes == 0 || !heads.ok() || !size.ok() || heads.value() == 0) return;
    add("self_attn.indexer.wq_b", Division::kWhole, heads.value(), w.query_rank * size.value());
    add("self_attn.indexer.wk", Division::kWhole, 1, m.hidden * size.value());
    out.push_back({.unit_weights = m.hidden * heads.value()});  // weights_proj, in 16 bits
    return;
  }
  const auto gate = config.flag("attn_output_gate"), equal = config.flag("attention_k_eq_v");
  const bool gated =
      (gate.ok() && gate.value() == true) || config.text("model_type").starts_with("qwen3_next");
  const bool same = equal.ok() && equal.value() == true;
  add("self_attn.q_proj", Division::kShared, m.query_heads, (gated ? 2 : 1) * m.hidden * cache.key_size);
  if (!shares) add("self_attn.k_proj", Division::kKvHeads, cache.heads, m.hidden * cache.key_size);
  // Gemma 4: in layers without a window keys serve as values.
  if (!shares && !(same && cache.window == 0))
    add("self_attn.v_proj", Division::kKvHeads, cache.heads, m.hidden * cache.value_size);
  add("self_attn.o_proj", Division::kShared, m.query_heads, cache.value_size * m.hidden);
  const auto sparse = config.inside("sparse_attention_config");
  if (cache.indexer_bytes == 0 || !sparse) return;
  const auto heads = sparse->whole_or({"sparse_num_index_heads"}, {1, kMostHeads}, 1);
  const auto size = sparse->whole_or({"sparse_index_dim"}, {1, kMostHeadSize}, 1);
  if (!heads.ok() || !size.ok()) return;
  add("self_attn.index_q_proj", Division::kShared, heads.value(), m.hidden * size.value());
  add("self_attn.index_k_proj", Division::kWhole, 1, m.hidden * size.value());
}

void add_feed_forward(const ModelShape& m, const LayerPlan& plan, const ModuleNames& names,
                      std::int64_t latent, std::vector<WeightMatrix>& out) {
  const WeightShape& w = m.weight_shape;
  const auto add = [&](WeightPart part, std::string_view module, std::int64_t width, std::int64_t row) {
    out.push_back({.part = part,
                   .module = module,
                   .division = Division::kShared,
                   .units = width,
                   .unit_weights = w.matrices * row,
                   .row = row});
  };
  if (plan.feed_forward == FeedForward::kNone) return;
  if (plan.feed_forward == FeedForward::kDense) {
    add(WeightPart::kDense, names.dense, plan.width > 0 ? plan.width : w.feed_forward, m.hidden);
    return;
  }
  out.push_back({.part = WeightPart::kRouter, .unit_weights = m.hidden * w.experts});
  if (latent > 0)
    out.push_back({.part = WeightPart::kShared,
                   .module = "mixer.fc1_latent_proj",
                   .unit_weights = 2 * m.hidden * latent});
  add(WeightPart::kExperts, names.experts, w.expert_feed_forward, latent > 0 ? latent : m.hidden);
  out.back().copies = w.experts;
  out.back().used = w.experts_per_token;
  if (w.shared_feed_forward > 0) add(WeightPart::kShared, names.shared, w.shared_feed_forward, m.hidden);
}

/// Gemma 3n and 4: an embedding for each layer.
Status add_layer_embeddings(const Config& config, ModelShape& shape) {
  KVPLAN_TRY(const std::int64_t size, config.whole_or({"hidden_size_per_layer_input"}, {0, kMostWidth}, 0));
  if (size == 0) return Done{};
  KVPLAN_TRY(const std::int64_t rows, config.whole_or({"vocab_size_per_layer_input"}, {1, kMostVocabulary},
                                                      shape.weight_shape.vocabulary));
  const std::int64_t width = shape.layers * size;
  shape.matrices.first.push_back(
      {.part = WeightPart::kVision, .division = Division::kShared, .units = rows, .unit_weights = width});
  shape.matrices.first.push_back({.part = WeightPart::kVision, .unit_weights = shape.hidden * width});
  for (LayerWeights& run : shape.matrices.layers)
    run.matrices.push_back({.part = WeightPart::kDense, .unit_weights = 2 * shape.hidden * size});
  return Done{};
}

/// Tables of cosines and sines for all positions, one for each kind of layer (vllm-project/vllm v0.15.1,
/// vllm/model_executor/layers/rotary_embedding: as long as the model's longest request, times the factor of linear
/// scaling). Latent attention: the up-projection again, as two matrices in the model's elements, once it is loaded
/// (vllm/model_executor/layers/attention/mla_attention.py, process_weights_after_loading).
Status add_tables(const Config& config, const std::vector<LayerPlan>& layers, ModelShape& shape) {
  const auto add = [&](Division division, std::int64_t units, std::int64_t unit,
                       std::vector<WeightMatrix>& to) {
    to.push_back({.part = WeightPart::kTables, .division = division, .units = units, .unit_weights = unit});
  };
  const WeightShape& w = shape.weight_shape;
  for (LayerWeights& run : shape.matrices.layers)
    for (std::size_t i = 0; i < run.matrices.size(); ++i)
      if (const WeightMatrix up = run.matrices[i]; up.module == "self_attn.kv_b_proj")
        add(up.division, up.units, up.unit_weights, run.matrices);
  const std::string type = config.text("model_type");
  for (const char* without : {"opt", "gpt2", "gpt_bigcode", "bloom", "mpt", "nemotron_h", "jamba"})
    if (type == without) return Done{};
  KVPLAN_TRY(const std::int64_t positions,
             config.whole_or({"max_position_embeddings"}, {1, kMostWindow >> 10}, 0));
  std::int64_t size = w.key_size;
  for (const LayerPlan& layer : layers)
    if (layer.cache.kind == CacheKind::kLatent) size = layer.cache.rope_size;
  const double part = config.number({"partial_rotary_factor", "rotary_pct"}).value_or(1);
  if (positions == 0 || size == 0 || part <= 0 || part > 1) return Done{};
  const auto rotary = static_cast<std::int64_t>(static_cast<double>(size) * part);
  double factor = 1;
  if (const auto scaling = config.inside("rope_scaling");
      scaling && (scaling->text("rope_type") == "linear" || scaling->text("type") == "linear"))
    factor = scaling->number({"factor"}).value_or(1);
  if (factor < 1 || factor > kMostHeads) factor = 1;
  add(Division::kWhole, positions, rotary, shape.matrices.each);
  shape.matrices.each.back().units = static_cast<std::int64_t>(static_cast<double>(positions) * factor);
  if (type.starts_with("gemma3") || type.starts_with("gemma4"))
    add(Division::kWhole, positions, rotary, shape.matrices.each);
  return Done{};
}

/// Layers that predict further tokens: engines load them for speculative decoding only.
Status note_prediction(const Config& config, ModelShape& shape) {
  for (const char* key : {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"}) {
    KVPLAN_TRY(const std::int64_t count, config.whole_or({key}, {0, kMostLayers}, 0));
    if (count == 0) continue;
    shape.notes.push_back("Layers that predict further tokens (" + std::string(key) +
                          ") are not counted: engines load them for speculative decoding only.");
    return Done{};
  }
  return Done{};
}

void read_precision(const Config& config, ModelShape& shape) {
  const auto* const quantised = config.quantisation();
  if (quantised == nullptr) return;
  Quantisation quantisation = Quantisation::read(*quantised, shape.weights_miss);
  // DeepSeek-V4: experts with a scale of one byte for 32 weights, beside all else in fp8.
  constexpr std::int64_t kExpertBits = (std::int64_t{4} << 16) + (std::int64_t{1} << 14);
  if (config.text("expert_dtype").ends_with("4")) quantisation.store_experts({kExpertBits, 8});
  quantisation.apply(shape.matrices);
}

}  // namespace

Status read_weights(const Config& config, std::vector<LayerPlan>& layers, ModelShape& shape) {
  WeightShape& w = shape.weight_shape;
  KVPLAN_TRY(w.feed_forward,
             config.whole_or({"intermediate_size", "ffn_dim", "n_inner"}, {1, kMostFeedForward}, 0));
  KVPLAN_TRY(w.vocabulary, config.whole_or({"vocab_size"}, {1, kMostVocabulary}, 0));
  KVPLAN_TRY(const auto tied, config.flag("tie_word_embeddings", true));
  const std::string type = config.text("model_type");
  w.tied = tied.value_or(type.starts_with("gemma"));
  // Two matrices, not three: blocks without a gate.
  for (const char* plain :
       {"opt", "gpt2", "gpt_bigcode", "gpt_neox", "falcon", "phi", "starcoder2", "nemotron", "nemotron_h"})
    if (type == plain) w.matrices = 2;
  KVPLAN_TRY(const Experts experts, read_experts(config, shape));
  const ModuleNames names = names_of(type);
  bool any_dense = false, any_experts = false;
  ModelWeights& out = shape.matrices;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerPlan& plan = layers[i];
    if (plan.feed_forward == FeedForward::kDense && w.experts > 0 && !plan.apart)
      plan.feed_forward = experts.of_layers[i];
    any_dense = any_dense || (plan.feed_forward == FeedForward::kDense && plan.width == 0);
    any_experts = any_experts || plan.feed_forward == FeedForward::kExperts;
    std::vector<WeightMatrix> matrices = plan.mixing;
    const bool attends = plan.cache.kind != CacheKind::kNone || plan.shares;
    if (attends && (matrices.empty() || plan.both))
      add_attention(config, shape, plan.shares ? plan.own : plan.cache, plan.shares, matrices);
    add_feed_forward(shape, plan, names, experts.latent, matrices);
    matrices.push_back({.part = WeightPart::kNorms, .unit_weights = (plan.apart ? 1 : 2) * shape.hidden});
    if (out.layers.empty() || out.layers.back().matrices != matrices)
      out.layers.push_back({.matrices = std::move(matrices)});
    ++out.layers.back().layers;
  }
  for (const LayerPlan& plan : layers) w.feed_forward = std::max(w.feed_forward, plan.width);
  const WeightMatrix rows{.part = WeightPart::kEmbedding,
                          .division = Division::kShared,
                          .units = w.vocabulary,
                          .unit_weights = shape.hidden};
  out.first = {rows};
  out.last = {rows, {.part = WeightPart::kNorms, .unit_weights = shape.hidden}};
  out.last[0].part = WeightPart::kOutput;
  out.last[0].module = "lm_head";
  KVPLAN_TRY_DO(add_layer_embeddings(config, shape));
  add_vision(config, shape);
  KVPLAN_TRY_DO(add_tables(config, layers, shape));
  KVPLAN_TRY_DO(note_prediction(config, shape));
  if (shape.weights_miss.empty()) read_precision(config, shape);
  if ((any_dense && w.feed_forward == 0) || (any_experts && w.expert_feed_forward == 0))
    shape.weights_miss = "intermediate_size is missing";
  if (any_experts && w.experts == 0) shape.weights_miss = "the number of experts is missing";
  if (w.vocabulary == 0) shape.weights_miss = "vocab_size is missing";
  if (w.key_size == 0) shape.weights_miss = "qk_nope_head_dim or v_head_dim is missing";
  return Done{};
}

}  // namespace kvplan::model
