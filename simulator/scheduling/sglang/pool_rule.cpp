// SGLang's pool: what is free after loading, less a reserve. Where the share is not given, the reserve is that of
// ServerArgs._handle_gpu_memory_settings (sgl-project/sglang, pull request 10975; the same up to main of 2026-08).
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/model/engine_version.h"
#include "simulator/scheduling/sglang/parts.h"

namespace kvplan::scheduling::sglang {
namespace {

constexpr std::string_view kShare = "mem_fraction_static", kVersion = "version";
/// Older ones reserve a share by the number of ranks.
constexpr model::EngineVersion kFirstVersion{5, 3};

constexpr std::array<Param, 2> kPoolParams{
    {{.name = kVersion,
      .help = "Version of SGLang, from 0.5.3 on: the ones that reserve memory by this rule",
      .kind = ParamKind::kText,
      .fallback = "0.5.5",
      .default_unsaid = true},
     model::memory_share(
         kShare,
         "Weights and KV cache, as a share of the free memory before loading; on a device the default is the "
         "engine's own, by its memory and the limits of a step",
         "0.843")}};

Status check(const Choice& rule) {
  if (const auto version = model::parse_version(rule.text(kVersion)); version && *version >= kFirstVersion)
    return Done{};
  return not_expected("a version of SGLang from 0.5.3 on, such as 0.5.5", rule.text(kVersion))
      .at_field(std::string(kVersion));
}

std::string says(const Choice& rule) {
  return "SGLang " + rule.text(kVersion);
}

/// Its own share: the rest beside what prefill chunks, CUDA graphs and ranks are taken to need, in MiB.
std::string share_on(const model::RankFacts& f) {
  const auto mib = static_cast<double>(memory_mib(*f.device));
  const double chunk = static_cast<double>(std::max<std::int64_t>(f.step_tokens, 2048));
  const auto ranks = static_cast<double>(f.tensor_ranks * f.stages);
  double reserved = 512 + chunk * 1.5 + 2 * graph_requests(*f.device, f.tensor_ranks) + ranks / 8 * 1024;
  if (mib > 60 * 1024) reserved = std::max(reserved, 10.0 * 1024);
  const double share = std::nearbyint(std::max(mib - reserved, 0.0) / mib * 1000) / 1000;
  return shortest(std::clamp(share, 0.01, 1.0));
}

/// The pool is the memory free after loading, minus a share of the memory that was free before.
model::PoolSplit split(const Choice& rule, const model::RankMemory& m) {
  const std::int64_t before = m.device - m.context;
  const double rest = static_cast<double>(before) * (1 - rule.decimal(kShare));
  const auto pool = static_cast<std::int64_t>(std::floor(static_cast<double>(before - m.weights) - rest));
  return {
      .pool = pool, .aside = before - m.weights - pool, .activations_aside = true, .workspace_aside = true};
}

}  // namespace

const model::PoolRule kPoolRule{
    .descriptor =
        {.family = "pool-rule",
         .name = "sglang",
         .summary =
             "The pool is the free memory after loading, minus a share of the free memory before loading "
             "that is reserved for activations and CUDA graphs.",
         .source = "sgl-project/sglang v0.5.5, srt/model_executor/model_runner.py (profile_max_num_token)",
         .params = kPoolParams},
    .split = split,
    .terms = [](const Choice&, const model::RankFacts& facts) { return model::assumed_terms(facts); },
    .share = kShare,
    .share_on = share_on,
    .check = check,
    .says = says};

}  // namespace kvplan::scheduling::sglang
