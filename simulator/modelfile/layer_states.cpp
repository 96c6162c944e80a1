#include "simulator/modelfile/layer_states.h"

#include <array>
#include <optional>
#include <string>

namespace kvplan::model {
namespace {

/// Of the recurrent part, where the config says so.
std::int64_t state_element_bytes(const Config& config, const ModelShape& shape) {
  constexpr std::int64_t kFloat = 4;
  for (const char* key : {"mamba_ssm_dtype", "mamba_ssm_cache_dtype"}) {
    config.claim({key});
    if (config.text(key) == "float32") return kFloat;
  }
  return shape.element_bytes;
}

WeightMatrix matrix(std::string_view module, std::int64_t units, std::int64_t unit_weights) {
  return {.part = WeightPart::kState,
          .module = module,
          .division = Division::kShared,
          .units = units,
          .unit_weights = unit_weights};
}

/// A convolution over `channels`; its weights stay in 16 bits.
WeightMatrix convolution(std::int64_t channels, std::int64_t kernel) {
  return matrix({}, channels, kernel);
}

Result<StateLayer> gated_delta_net(const Config& config, const ModelShape& m) {
  KVPLAN_TRY(const std::int64_t key_heads, config.whole({"linear_num_key_heads"}, kMostHeads));
  KVPLAN_TRY(const std::int64_t value_heads, config.whole({"linear_num_value_heads"}, kMostHeads));
  KVPLAN_TRY(const std::int64_t key_size, config.whole({"linear_key_head_dim"}, kMostHeadSize));
  KVPLAN_TRY(const std::int64_t value_size, config.whole({"linear_value_head_dim"}, kMostHeadSize));
  KVPLAN_TRY(const std::int64_t kernel, config.whole({"linear_conv_kernel_dim"}, kMostHeadSize));
  config.claim({"linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
                "linear_value_head_dim", "linear_conv_kernel_dim"});
  const std::int64_t channels = 2 * key_heads * key_size + value_heads * value_size;
  StateLayer out;
  out.bytes = channels * (kernel - 1) * m.element_bytes +
              value_heads * value_size * key_size * state_element_bytes(config, m);
  out.matrices = {matrix("linear_attn.in_proj_qkv", channels, m.hidden),
                  matrix("linear_attn.in_proj_z", value_heads * value_size, m.hidden),
                  matrix("linear_attn.in_proj_b", 2 * value_heads, m.hidden),
                  matrix("linear_attn.out_proj", value_heads * value_size, m.hidden),
                  convolution(channels, kernel)};
  return out;
}

Result<StateLayer> mamba(const Config& config, const ModelShape& m) {
  KVPLAN_TRY(const std::int64_t state,
             config.whole({"ssm_state_size", "mamba_d_state", "state_size"}, kMostWidth));
  KVPLAN_TRY(const std::int64_t kernel,
             config.whole({"conv_kernel", "mamba_d_conv", "conv_kernel_size"}, kMostHeadSize));
  KVPLAN_TRY(const std::int64_t expand, config.whole_or({"mamba_expand", "expand"}, {1, kMostHeads}, 2));
  KVPLAN_TRY(const auto heads,
             config.maybe({"mamba_num_heads", "mamba_n_heads", "n_mamba_heads"}, {1, kMostHeads}));
  KVPLAN_TRY(const auto size,
             config.maybe({"mamba_head_dim", "mamba_d_head", "mamba_headdim"}, {1, kMostHeadSize}));
  KVPLAN_TRY(const auto inner,
             config.maybe({"mamba_d_ssm", "mamba_intermediate_size"}, {1, kMostFeedForward}));
  config.claim({"ssm_state_size",  "mamba_d_state",          "conv_kernel",
                "mamba_d_conv",    "conv_kernel_size",       "mamba_expand",
                "mamba_num_heads", "mamba_n_heads",          "n_mamba_heads",
                "mamba_head_dim",  "mamba_d_head",           "mamba_headdim",
                "mamba_d_ssm",     "mamba_n_groups",         "mamba_chunk_size",
                "mamba_proj_bias", "mamba_hidden_act",       "mamba_conv_bias",
                "use_conv_bias",   "use_mamba_kernels",      "mamba_dt_rank",
                "mamba_rms_norm",  "mamba_norm_before_gate", "mamba_inner_layernorms",
                "mamba_use_mlp"});
  StateLayer out;
  if (!heads || !size) {  // Mamba: no heads, and states in the model's elements
    const std::int64_t width = inner.value_or(expand * m.hidden);
    out.bytes = width * (kernel - 1 + state) * m.element_bytes;
    KVPLAN_TRY(const std::int64_t rank,
               config.whole_or({"mamba_dt_rank"}, {1, kMostWidth}, (m.hidden + 15) / 16));
    out.matrices = {matrix("mamba.in_proj", 2 * width, m.hidden),
                    matrix("mamba.x_proj", width, rank + 2 * state), matrix("mamba.dt_proj", width, rank),
                    matrix("mamba.out_proj", width, m.hidden), convolution(width, kernel)};
    return out;
  }
  KVPLAN_TRY(const std::int64_t groups, config.whole_or({"n_groups", "mamba_n_groups"}, {1, kMostHeads}, 1));
  const std::int64_t width = *heads * *size;
  const std::int64_t channels = width + 2 * groups * state;
  // One group is on each rank (extra_groups_for_head_shards in the same file).
  if (groups == 1) out.whole_bytes = 2 * state * (kernel - 1) * m.element_bytes;
  out.bytes = channels * (kernel - 1) * m.element_bytes + width * state * state_element_bytes(config, m);
  out.matrices = {matrix("mixer.in_proj", width + channels + *heads, m.hidden),
                  matrix("mixer.out_proj", width, m.hidden), convolution(channels, kernel)};
  return out;
}

/// Kimi-Linear: three convolutions, and a recurrent state in four bytes.
Result<StateLayer> delta_attention(const Config& config, const ModelShape& m) {
  const auto inner = config.inside("linear_attn_config");
  KVPLAN_TRY(const std::int64_t heads, inner->whole({"num_heads"}, kMostHeads));
  KVPLAN_TRY(const std::int64_t size, inner->whole({"head_dim"}, kMostHeadSize));
  KVPLAN_TRY(const std::int64_t kernel, inner->whole_or({"short_conv_kernel_size"}, {1, kMostHeadSize}, 4));
  constexpr std::int64_t kFloat = 4, kProjections = 3;
  const std::int64_t width = heads * size;
  StateLayer out;
  out.bytes = kProjections * width * (kernel - 1) * m.element_bytes + heads * size * size * kFloat;
  out.matrices = {
      matrix("self_attn.q_proj", kProjections * width, m.hidden),
      matrix("self_attn.o_proj", width, m.hidden),
      matrix("self_attn.f_b_proj", 2 * width, size),
      matrix("self_attn.b_proj", heads, m.hidden),
      {.part = WeightPart::kState, .module = "self_attn.f_a_proj", .unit_weights = 2 * m.hidden * size},
      convolution(kProjections * width, kernel)};
  return out;
}

/// MiniMax-Text-01: a matrix for each head.
StateLayer lightning_attention(const ModelShape& m, std::int64_t head_size) {
  const std::int64_t width = m.query_heads * head_size;
  constexpr std::int64_t kProjections = 4;  // queries, keys, values, and the gate
  return {.bytes = width * head_size * m.element_bytes,
          .matrices = {matrix("self_attn.qkv_proj", kProjections * width, m.hidden),
                       matrix("self_attn.out_proj", width, m.hidden)}};
}

Result<StateLayer> short_convolution(const Config& config, const ModelShape& m) {
  KVPLAN_TRY(const std::int64_t kernel, config.whole({"conv_L_cache"}, kMostHeadSize));
  KVPLAN_TRY(const std::int64_t width, config.whole_or({"conv_dim"}, {1, kMostWidth}, m.hidden));
  config.claim({"conv_L_cache", "conv_dim", "conv_dim_out", "conv_use_xavier_init"});
  constexpr std::int64_t kParts = 3;
  return StateLayer{.bytes = width * (kernel - 1) * m.element_bytes,
                    .matrices = {matrix("conv.in_proj", kParts * width, m.hidden),
                                 matrix("conv.out_proj", width, m.hidden), convolution(width, kernel)}};
}

}  // namespace

Result<StateLayer> read_state(const Config& config, const ModelShape& shape, std::int64_t head_size,
                              const char* key) {
  if (config.present({"linear_num_key_heads", "linear_num_value_heads"}) != nullptr)
    return gated_delta_net(config, shape);
  if (config.inside("linear_attn_config")) return delta_attention(config, shape);
  if (config.present({"ssm_state_size", "mamba_d_state"}) != nullptr) return mamba(config, shape);
  if (config.present({"attn_type_list"}) != nullptr || config.text("model_type").starts_with("minimax"))
    return lightning_attention(shape, head_size);
  if (config.present({"conv_L_cache"}) != nullptr) return short_convolution(config, shape);
  return config.wrong(
      "expected the sizes of the state that these layers have in place of a KV cache, found none", key);
}

}  // namespace kvplan::model
