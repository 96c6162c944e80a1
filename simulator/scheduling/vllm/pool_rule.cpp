// vLLM's pool: a share of the device, less what a profiling run found. The amounts are those that its start-up logs
// state: formulas with the reasons in vLLM's source, and constants fitted to 40 start-ups (simulator/docs/pools.md has
// all rows; tests/unit/deployment/start_ups_test.cpp makes that page).
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "simulator/base/check.h"
#include "simulator/base/number_input.h"
#include "simulator/model/engine_version.h"
#include "simulator/scheduling/vllm/parts.h"

namespace kvplan::scheduling::vllm {
namespace {

using Version = model::EngineVersion;
using model::Estimate;
using model::Mark;

constexpr std::string_view kShare = "memory_utilization", kVersion = "version";

constexpr std::array<Param, 2> kPoolParams{
    {{.name = kVersion,
      .help = "Version of vLLM, from 0.11 on; the default is the newest one with measured start-ups",
      .kind = ParamKind::kText,
      .fallback = "0.19.0",
      .default_unsaid = true},
     model::memory_share(kShare, "Share of the device's memory that the engine may use", "0.9")}};

/// The first version that the rule describes, and the newest one with measured start-ups.
constexpr Version kFirstVersion{11, 0}, kMeasuredVersion{19, 0};
/// Its sampler's dummy run needs fewer copies of the logits.
constexpr Version kLeanSampler{17, 0};
/// More is counted as memory outside of torch.
constexpr Version kMoreNonTorch{18, 0};
/// CUDA graphs are estimated, and subtracted, unless VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0.
constexpr Version kGraphsTaken{21, 0};

// Fitted (simulator/docs/pools.md). Bytes of a logit in sampling, beside the logit itself:
constexpr double kLeanBytesPerLogit = 12.9, kBytesPerLogit = 36.4;
/// Vectors of the hidden size that one layer holds for each token.
constexpr double kVectorsOfALayer = 4.25;
/// And of images, in a model that takes them: their embeddings for all tokens of a step, and some of the tower.
constexpr double kVectorsOfImages = 2;

constexpr double kGiB = 1 << 30;

/// REQUIRES: check passed.
Version version_of(const Choice& rule) {
  const auto version = model::parse_version(rule.text(kVersion));
  KVPLAN_CHECK(version.has_value());
  return *version;
}

Status check(const Choice& rule) {
  if (const auto version = model::parse_version(rule.text(kVersion)); version && *version >= kFirstVersion)
    return Done{};
  return not_expected("a version of vLLM from 0.11 on, such as 0.19.0", rule.text(kVersion))
      .at_field(std::string(kVersion));
}

std::string says(const Choice& rule) {
  const Version version = version_of(rule);
  std::string out = "vLLM " + rule.text(kVersion);
  if (!rule.given(kVersion)) return out + ", the newest version with measured start-ups";
  if (version <= kMeasuredVersion) return out;
  out += ", of which no start-up was measured: the terms are those of 0.19.0";
  return version < kGraphsTaken ? out : out + ", and CUDA graphs are subtracted, as its logs say";
}

/// requested = ceil(total x utilization), available = requested - (weights + activations + non-torch increase), from
/// 0.21 on also - graphs. The product is one of doubles, as in vLLM.
model::PoolSplit split(const Choice& rule, const model::RankMemory& m) {
  const double share = rule.decimal(kShare);
  const auto requested = static_cast<std::int64_t>(std::ceil(static_cast<double>(m.device) * share));
  const bool graphs_taken = version_of(rule) >= kGraphsTaken;
  return {.pool = requested - m.weights - m.activations - m.workspace - (graphs_taken ? m.graphs : 0),
          .aside = m.device - requested,
          .context_aside = true,
          .graphs_aside = !graphs_taken};
}

Estimate of_gib(double value, double low, double high, Mark mark, std::string source) {
  const auto bytes = [](double gib) { return static_cast<std::int64_t>(std::llround(gib * kGiB)); };
  return {{bytes(value), mark, std::move(source)}, bytes(low), bytes(high)};
}

/// Bytes of the profiling run: a forward pass with all tokens of a step, then sampling for all requests of one.
/// Sampling copies the logits (its own type, float32, sorted values and their indices, ...), while the hidden states
/// of the pass are still there. One layer needs the three products of its feed-forward block and some vectors of the
/// hidden size.
/// Experts write their products for each chosen expert into buffers that stay (modular_kernel.py); those with 4-bit
/// weights do not.
Estimate activations(const Version& version, const model::RankFacts& f) {
  const model::ModelShape& m = *f.model;
  const model::WeightShape& w = m.weight_shape;
  const auto part = [&](model::WeightPart of) {
    return f.weights == nullptr ? model::PartWeights{} : f.weights->of(of);
  };
  // Of what is computed: weights of 32 bits are those of a server with dtype float32.
  const bool single = part(model::WeightPart::kAttention).weight_bits() >= 32;
  const double element = single ? 4 : static_cast<double>(m.element_bytes);
  const auto tokens = static_cast<double>(f.step_tokens), hidden = static_cast<double>(m.hidden);
  const auto ranks = static_cast<double>(f.tensor_ranks);
  const double pass = tokens * hidden * element;
  const double per_logit = (version >= kLeanSampler ? kLeanBytesPerLogit : kBytesPerLogit) + element;
  const double logits = static_cast<double>(f.step_requests) * static_cast<double>(w.vocabulary);
  const double sampling = f.has_output ? per_logit * logits + pass : 0;
  const bool dense = w.experts == 0 || w.dense_layers > 0;
  const double width =
      static_cast<double>(dense ? std::max(w.feed_forward, w.shared_feed_forward) : w.shared_feed_forward);
  // Hidden states and residuals, sent and received.
  const double between_stages = f.stages > 1 ? 2 * pass : 0;
  const double layer = 3 * width / ranks * tokens * element + kVectorsOfALayer * pass;
  const double expert = static_cast<double>(w.expert_feed_forward) / ranks;
  const bool buffers = w.experts > 0 && part(model::WeightPart::kExperts).weight_bits() >= 8;
  const bool images = part(model::WeightPart::kVision).weights > 0;
  const double experts = buffers ? static_cast<double>(w.experts_per_token) *
                                       (std::max(2 * expert, hidden) + expert) * tokens * element
                                 : 0;
  const double value = std::max(sampling, layer) + between_stages + experts;
  const auto bytes = [](double of) { return std::llround(std::min(of, 0x1p59)); };
  const double above = experts > 0 || layer > sampling ? 1.07 : 1.02;
  std::string source = layer > sampling ? "one layer for " + std::to_string(f.step_tokens) + " tokens"
                                        : "sampling for " + std::to_string(f.step_requests) + " requests";
  if (experts > 0) source += ", buffers of experts";
  if (images) source += ", embedded images";
  return {{bytes(value + (images ? kVectorsOfImages * pass : 0)), Mark::kFitted, std::move(source)},
          bytes(value * 0.98 + (images ? pass : 0)),
          bytes(value * above + (images ? 3.2 * pass : 0))};
}

/// What libraries allocate: with several ranks, buffers for their messages.
Estimate non_torch(const Version& version, const model::RankFacts& f) {
  const bool linked = f.device->find(model::DeviceFigure::kDeviceLink).has_value() &&
                      f.device->find(model::DeviceFigure::kDeviceLink)->value > 0;
  const bool measured = version >= kMoreNonTorch && f.device->architecture == "sm_90";
  const Mark mark = measured ? Mark::kFitted : Mark::kAssumed;
  const std::string logs = "start-ups of 0.19.0 on H100";
  if (f.tensor_ranks > 1) {
    if (version < kMoreNonTorch || !linked)
      return of_gib(0.54, 0.18, 2.21, Mark::kAssumed, "a start-up of 0.11 with two ranks: 0.54 GiB");
    if (f.tensor_ranks == 2)
      return of_gib(2.07, 2.05, 2.12, mark, logs + ": 2.06 to 2.11 GiB with two ranks");
    return of_gib(2.13, 2.1, f.tensor_ranks == 4 ? 2.22 : 3, f.tensor_ranks == 4 ? mark : Mark::kAssumed,
                  logs + ": 2.13 to 2.21 GiB with four ranks");
  }
  if (f.stages > 1) return of_gib(0.07, 0.05, 0.14, mark, logs + ": 0.07 GiB with stages only");
  if (version >= kMoreNonTorch) return of_gib(0.25, 0.23, 0.46, mark, logs + ": 0.24 to 0.46 GiB");
  return of_gib(0.13, 0.05, 0.26, Mark::kFitted, "start-ups of 0.15 to 0.17 on H100: 0.13 GiB");
}

model::RankTerms terms(const Choice& rule, const model::RankFacts& f) {
  const Version version = version_of(rule);
  const bool alone = f.tensor_ranks * f.stages == 1;
  const bool measured = f.device->architecture == "sm_90";
  const Mark mark = measured ? Mark::kFitted : Mark::kAssumed;
  return {.context = alone ? of_gib(0.51, 0.4, 0.7, mark, "H100 and L40S before loading: 0.49 to 0.51 GiB")
                           : of_gib(1.53, 0.9, 2.05, mark, "ranks on H100 before loading: 1.43 to 2.01 GiB"),
          .activations = activations(version, f),
          .workspace = non_torch(version, f),
          .graphs = of_gib(0.84, 0.49, 1.92, Mark::kAssumed,
                           "start-ups of 0.19.0 on H100: 0.49 to 1.92 GiB, in the median 0.84")};
}

}  // namespace

const model::PoolRule kPoolRule{
    .descriptor = {.family = "pool-rule",
                   .name = "vllm-v1",
                   .summary =
                       "The pool is a share of the device memory, minus weights, the activation peak of a "
                       "profiling run, and what libraries allocated meanwhile (from 0.21 on also CUDA "
                       "graphs); one block is the null block.",
                   .source = "vllm-project/vllm v0.15.1, vllm/v1/worker/gpu_worker.py "
                             "(determine_available_memory); start-ups of 0.11 to 0.19.0",
                   .params = kPoolParams,
                   .divergences =
                       "From 0.21 on, the rule follows the wording of the start-up log (issue 45178 of "
                       "vllm-project/vllm). It was not compared with a start-up of these versions."},
    .split = split,
    .terms = terms,
    .share = kShare,
    .check = check,
    .says = says,
    .null_block = true};

}  // namespace kvplan::scheduling::vllm
