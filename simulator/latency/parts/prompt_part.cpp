#include "simulator/latency/parts/prompt_part.h"

#include <algorithm>
#include <cmath>

#include "simulator/model/ranks.h"

namespace kvplan::latency {

PromptPart PromptPart::make(const StepShape& shape, const kernels::CurveWish& wish) {
  PromptPart part;
  const model::ModelShape& m = shape.model;
  const bool all_heads = std::all_of(m.runs.begin(), m.runs.end(), [](const model::LayerRun& run) {
    return run.cache.kind == model::CacheKind::kHeads;
  });
  if (!all_heads) return part;
  const std::int64_t heads = ceil_div(m.query_heads, shape.tensor_ranks);
  struct Kind {
    std::int64_t kv_heads, size, window;
    double layers;
  };
  std::vector<Kind> kinds;
  for (const model::LayerRun& run : m.runs) {
    const model::LayerCache cache = model::share_of(run.cache, shape.tensor_ranks);
    const Kind kind{cache.heads, (cache.key_size + cache.value_size) / 2,
                    shape.follows_windows ? cache.window : 0, static_cast<double>(run.layers)};
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) {
      return k.kv_heads == kind.kv_heads && k.size == kind.size && k.window == kind.window;
    });
    if (same == kinds.end())
      kinds.push_back(kind);
    else
      same->layers += kind.layers;
  }
  // The tables have heads of 64 and 128 elements, and windows of 128 tokens.
  constexpr std::int64_t kSmallHead = 64, kLargeHead = 128, kWindow = 128;
  constexpr double kTokenOfStart = 1;
  for (const Kind& kind : kinds) {
    const std::int64_t size = kind.size <= 96 ? kSmallHead : kLargeHead;
    const std::int64_t window = kind.window > 0 && kind.window <= 2 * kWindow ? kWindow : 0;
    kernels::KindCurve curve =
        kernels::nearest_curve(kernels::prefill_attention_kind(), wish,
                               {"bfloat16", "bfloat16", std::to_string(size), std::to_string(window),
                                std::to_string(heads), std::to_string(kind.kv_heads), "1"});
    const double start = curve(kTokenOfStart);
    part.layers_.push_back(
        {std::move(curve), kind.layers * static_cast<double>(kind.size) / static_cast<double>(size), start});
  }
  return part;
}

Wide PromptPart::ticks(const core::StepLoad& load) const {
  const std::int64_t tokens = load.tokens - load.requests;
  const std::int64_t pairs = load.attention_pairs - load.context_tokens - load.requests;
  if (tokens < 1 || pairs < 1) return 0;
  const auto t = static_cast<double>(tokens), p = static_cast<double>(pairs);
  const double mean = p / t;
  double us = 0;
  for (const Layers& layers : layers_) {
    const auto beyond_start = [&](double n) {
      return n > 1 ? std::max(0.0, layers.curve(n) - layers.start_us) : 0.0;
    };
    const double own = mean < t / 2 ? t / std::max(1.0, 2 * mean) * beyond_start(2 * mean)
                                    : std::max(0.0, beyond_start(mean + t / 2) - beyond_start(mean - t / 2));
    us += layers.factor * (layers.start_us + own);
  }
  constexpr auto kMost = static_cast<double>(core::kLongestStepTicks);
  const double ticks = us * kTicksPerUs;
  return ticks < kMost ? std::llround(ticks) : core::kLongestStepTicks;
}

}  // namespace kvplan::latency
