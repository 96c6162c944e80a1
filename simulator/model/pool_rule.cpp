#include "simulator/model/pool_rule.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/base/check.h"
#include "simulator/base/units.h"

namespace kvplan::model {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr Wide kMostBytes = Wide{1} << 60;

constexpr Param share(std::string_view name, std::string_view help, std::string_view fallback) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = fallback,
          .low = 0.01,
          .high = 1};
}

constexpr std::array<Param, 1> kSglangParams{
    share("mem_fraction_static",
          "Weights and KV cache, as a share of the free memory before loading; the default is the engine's "
          "own for an 80 GB device, prefill chunks of 8,192 and CUDA graphs up to batch 256",
          "0.843")};
constexpr std::array<Param, 1> kTrtParams{
    share("free_gpu_memory_fraction", "KV cache, as a share of the memory that is free after everything else",
          "0.9")};
constexpr std::array<Param, 1> kVllmParams{
    share("memory_utilization", "Share of the device's memory that the engine may use", "0.9")};

/// vLLM: requested = ceil(total x utilization), available = requested - (weights + activations + non-torch increase).
/// The product is one of doubles, as in vLLM.
PoolSplit split_vllm(const Choice& rule, const RankMemory& m) {
  const double share = rule.decimal("memory_utilization");
  const auto requested = static_cast<std::int64_t>(std::ceil(static_cast<double>(m.device) * share));
  return {.pool = requested - m.weights - m.activations - m.workspace,
          .aside = m.device - requested,
          .context_aside = true};
}

/// SGLang: what is free after loading, less a share of what was free before.
PoolSplit split_sglang(const Choice& rule, const RankMemory& m) {
  const std::int64_t before = m.device - m.context;
  const double rest = static_cast<double>(before) * (1 - rule.decimal("mem_fraction_static"));
  const auto pool = static_cast<std::int64_t>(std::floor(static_cast<double>(before - m.weights) - rest));
  return {
      .pool = pool, .aside = before - m.weights - pool, .activations_aside = true, .workspace_aside = true};
}

/// TensorRT-LLM: a fraction of the memory that is free after weights and activations.
PoolSplit split_trt(const Choice& rule, const RankMemory& m) {
  const std::int64_t free = m.device - m.context - m.weights - m.activations - m.workspace;
  const double share = rule.decimal("free_gpu_memory_fraction");
  const std::int64_t pool =
      free > 0 ? static_cast<std::int64_t>(std::floor(static_cast<double>(free) * share)) : free;
  return {.pool = pool, .aside = free - pool};
}

struct Entry {
  Descriptor descriptor;
  PoolSplit (*split)(const Choice&, const RankMemory&);
  bool null_block;
};

constexpr std::array<Entry, 3> kEntries{{
    {{.family = "pool-rule",
      .name = "sglang",
      .summary = "The pool is the free memory after loading, minus a share of the free memory before loading "
                 "that is reserved for activations and CUDA graphs.",
      .source = "sgl-project/sglang v0.5.5, srt/model_executor/model_runner.py (profile_max_num_token)",
      .params = kSglangParams},
     split_sglang,
     false},
    {{.family = "pool-rule",
      .name = "trt-llm",
      .summary = "The pool is a share of the memory that weights, activations and libraries leave free.",
      .source = "NVIDIA/TensorRT-LLM, docs/source/features/kvcache.md (free_gpu_memory_fraction)",
      .params = kTrtParams},
     split_trt,
     false},
    {{.family = "pool-rule",
      .name = "vllm-v1",
      .summary = "The pool is a share of the device memory, minus weights, the activation peak of a "
                 "profiling run, and what libraries allocated meanwhile; one block is the null block.",
      .source = "vllm-project/vllm v0.15.1, vllm/v1/worker/gpu_worker.py (determine_available_memory)",
      .params = kVllmParams},
     split_vllm,
     true},
}};

const Entry& entry_of(const Choice& rule) {
  for (const Entry& entry : kEntries)
    if (&entry.descriptor == &rule.descriptor()) return entry;
  check_failed("the choice is of family \"pool-rule\"", __FILE__, __LINE__);
}

}  // namespace

Catalogue pool_rule_descriptors() {
  static constexpr auto kDescriptors = [] {
    std::array<const Descriptor*, kEntries.size()> out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = &kEntries[i].descriptor;
    return out;
  }();
  return kDescriptors;
}

PoolSplit split_memory(const Choice& rule, const RankMemory& memory) {
  return entry_of(rule).split(rule, memory);
}

bool has_null_block(const Choice& rule) {
  return entry_of(rule).null_block;
}

Figure assumed_activations(const ModelShape& shape, std::int64_t tensor_ranks, std::int64_t step_tokens,
                           std::int64_t step_requests) {
  const WeightShape& w = shape.weight_shape;
  // Per layer: four vectors of the hidden size, and three of the feed-forward width that a token uses.
  const Wide experts = Wide{w.experts_per_token} * w.expert_feed_forward + w.shared_feed_forward;
  const Wide width = std::max(Wide{w.feed_forward}, experts);
  const Wide layer =
      2 * Wide{step_tokens} * (4 * Wide{shape.hidden} + 3 * ((width + tensor_ranks - 1) / tensor_ranks));
  // Sampling: logits in four bytes, their sorted copy, indices, sums and probabilities.
  const Wide sampling = Wide{10} * 4 * step_requests * w.vocabulary;
  return {static_cast<std::int64_t>(std::min(std::max(layer, sampling), kMostBytes - 1)), Mark::kAssumed,
          "the larger of one layer's activations for " + std::to_string(step_tokens) +
              " tokens and sampling for " + std::to_string(step_requests) + " requests"};
}

Figure assumed_context() {
  return {512 * kMiB, Mark::kAssumed, "an L40S before loading: 0.49 GiB"};
}

Figure assumed_workspace() {
  return {128 * kMiB, Mark::kAssumed, "vLLM logs: 0.01 to 0.25 GiB"};
}

Figure assumed_graphs() {
  return {512 * kMiB, Mark::kAssumed, "vLLM and SGLang logs: 0.1 to 1 GiB"};
}

}  // namespace kvplan::model
