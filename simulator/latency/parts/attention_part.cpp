#include "simulator/latency/parts/attention_part.h"

#include <algorithm>

#include "simulator/kernels/attention_roofline.h"
#include "simulator/model/layer_groups.h"
#include "simulator/model/ranks.h"

namespace kvplan::latency {
namespace {

constexpr std::int64_t kLongestCurve = std::int64_t{1} << 22;  ///< tokens; behind it roofs are straight

std::int64_t to_ticks(double ticks) {
  constexpr auto kMost = static_cast<double>(core::kLongestStepTicks);
  return ticks < kMost ? std::llround(ticks) : core::kLongestStepTicks;
}

/// A roof over the cached tokens, with knots at powers of two.
template <class Roof>
kernels::TimeCurve curve_under(Roof roof) {
  kernels::TimeCurve curve;
  curve.knots.push_back({0, roof(0).us, kernels::TimeSource::kRoofline});
  for (std::int64_t length = 1; length <= kLongestCurve; length *= 2)
    curve.knots.push_back({static_cast<double>(length), roof(length).us, kernels::TimeSource::kRoofline});
  const kernels::Knot& a = curve.knots[curve.knots.size() - 2];
  const kernels::Knot& b = curve.knots.back();
  curve.rise = (b.us - a.us) / (b.at - a.at);
  return curve;
}

}  // namespace

AttentionPart::AttentionPart(const StepShape& shape, kernels::DecodeTimes tables, double compute_efficiency,
                             PromptPart prompts)
    : device_(shape.device),
      tables_(std::move(tables)),
      prompts_(std::move(prompts)),
      query_heads_(ceil_div(shape.model.query_heads, shape.tensor_ranks)),
      kept_(std::make_unique<std::atomic<const Curves*>[]>(kKept + 1)) {
  const model::ModelShape& m = shape.model;
  const std::vector<model::WindowLayers> windows = model::windows_of(m);
  const double layer_pair = static_cast<double>(m.pair_flops()) /
                            static_cast<double>(std::max<std::int64_t>(m.attention_layers(), 1)) *
                            static_cast<double>(query_heads_) / static_cast<double>(m.query_heads);
  const double flops = shape.figure(model::DeviceFigure::kBf16Flops) * compute_efficiency;
  std::int64_t elements = 0;
  std::int64_t first = 0;
  for (const model::LayerRun& run : m.runs) {
    model::LayerCache cache = model::share_of(run.cache, shape.tensor_ranks);
    elements += run.layers * cache.elements();
    if (!shape.follows_windows) cache.window = 0;
    double in_part = 0;
    for (std::int64_t layer = first; layer < first + run.layers && !shape.partly.empty(); ++layer)
      in_part += shape.partly[static_cast<std::size_t>(layer)];
    first += run.layers;
    add_layers(cache, false, static_cast<double>(run.layers) - in_part, windows);
    add_layers(cache, true, in_part, windows);
  }
  for (Kind& kind : kinds_) kind.pair = FineTicks::of(kind.layers * layer_pair / flops * kTicksPerSecond);
  ranked_ = shape.ranked_token_ticks;
  if (const std::int64_t bytes = model::state_bytes_of(m, shape.tensor_ranks); bytes > 0)
    states_ =
        std::llround(2 * static_cast<double>(bytes) / kernels::bandwidth_reached(device_) * kTicksPerSecond);
  if (elements > 0) elem_bytes_ = static_cast<double>(shape.token_bytes) / static_cast<double>(elements);
}

void AttentionPart::add_layers(const model::LayerCache& cache, bool in_part, double layers,
                               const std::vector<model::WindowLayers>& windows) {
  if (layers <= 0 || cache.kind == model::CacheKind::kNone) return;
  const auto same = std::find_if(kinds_.begin(), kinds_.end(),
                                 [&](const Kind& k) { return k.cache == cache && k.in_part == in_part; });
  if (same != kinds_.end()) {
    same->layers += layers;
    return;
  }
  Kind kind{.cache = cache, .layers = layers, .in_part = in_part};
  for (std::size_t w = 0; cache.window > 0 && w < std::min(windows.size(), core::kMostWindows); ++w)
    if (windows[w].window == cache.window) kind.unseen = w;
  kinds_.push_back(kind);
}

AttentionPart::~AttentionPart() {
  for (std::int64_t i = 0; i <= kKept; ++i) delete kept_[static_cast<std::size_t>(i)].load();
}

kernels::TimeCurve AttentionPart::layer_curve(const Kind& kind, std::int64_t requests) const {
  const model::LayerCache& cache = kind.cache;
  if (cache.kind == model::CacheKind::kLatent)
    return curve_under([&](std::int64_t length) {
      return kernels::latent_roofline({.batch = requests,
                                       .kv_len = length,
                                       .q_heads = query_heads_,
                                       .latent_size = cache.latent_size,
                                       .rope_size = cache.rope_size,
                                       .window = cache.window,
                                       .kv_elem_bytes = elem_bytes_},
                                      device_);
    });
  // Keys and values of different sizes are read as those of their mean.
  kernels::DecodeCall call{.batch = requests,
                           .kv_len = 1,
                           .q_heads = cache.heads * ceil_div(query_heads_, cache.heads),
                           .kv_heads = cache.heads,
                           .head_dim = (cache.key_size + cache.value_size) / 2,
                           .window = cache.window,
                           .kv_elem_bytes = elem_bytes_};
  if (const auto measured = tables_.curve(call)) return *measured;
  return curve_under([&](std::int64_t length) {
    call.kv_len = length;
    return kernels::attention_roofline(call, device_);
  });
}

AttentionPart::Curves AttentionPart::curves_of(std::int64_t requests) const {
  Curves out;
  const auto sequences = static_cast<double>(requests);
  for (const Kind& kind : kinds_) {
    const kernels::TimeCurve curve = layer_curve(kind, requests);
    const double layers = kind.layers;
    std::vector<TickKnot> knots;
    for (const kernels::Knot& knot : curve.knots) {
      const TickKnot next{std::llround(knot.at * sequences), to_ticks(knot.us * kTicksPerUs * layers)};
      if (!knots.empty() && knots.back().at >= next.at) knots.pop_back();
      knots.push_back(next);
    }
    out.emplace_back(std::move(knots), std::llround(curve.rise * kTicksPerUs * layers / sequences));
  }
  return out;
}

template <class Use>
auto AttentionPart::with_curves(std::int64_t requests, Use use) const {
  if (requests > kKept) return use(curves_of(requests));
  std::atomic<const Curves*>& place = kept_[static_cast<std::size_t>(requests)];
  const Curves* curves = place.load(std::memory_order_acquire);
  if (curves == nullptr) {
    auto made = std::make_unique<const Curves>(curves_of(requests));
    // Another thread may have been first, with the same.
    if (place.compare_exchange_strong(curves, made.get(), std::memory_order_acq_rel)) curves = made.release();
  }
  return use(*curves);
}

AttentionPart::Place AttentionPart::place(const Kind& kind, const core::StepLoad& load,
                                          const core::LoadGrowth& more) {
  const std::int64_t requests = std::max<std::int64_t>(1, load.requests);
  const std::int64_t unread = kind.in_part ? load.unread_tokens : 0;
  const Place whole{load.context_tokens + requests - unread,
                    more.context_tokens - (kind.in_part ? more.unread_tokens : 0)};
  if (kind.unseen == core::kMostWindows) return whole;
  const std::int64_t seen = whole.tokens - load.unseen[kind.unseen].context_tokens;
  const Wide windows = Wide{kind.cache.window} * requests;
  if (seen >= windows) return whole;
  return {std::max<std::int64_t>(0, seen), more.context_tokens - more.unseen[kind.unseen],
          static_cast<std::int64_t>(std::min(windows - 1, Wide{kNoEnd}))};
}

Wide AttentionPart::decode_ticks(const core::StepLoad& load) const {
  return with_curves(std::max<std::int64_t>(1, load.requests), [&](const Curves& curves) {
    Wide sum = Wide{ranked_} * load.ranked_tokens + Wide{states_} * load.requests;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const Place at = place(kinds_[k], load, {});
      sum += curves[k].piece(at.tokens).ticks(at.tokens);
    }
    return sum;
  });
}

Wide AttentionPart::prompt_ticks(const core::StepLoad& load) const {
  if (!prompts_.empty()) return prompts_.ticks(load);
  Wide sum = 0;
  for (const Kind& kind : kinds_) {
    const core::UnseenLoad unseen =
        kind.unseen == core::kMostWindows ? core::UnseenLoad{} : load.unseen[kind.unseen];
    const Wide pairs = Wide{load.attention_pairs} - unseen.attention_pairs;
    const Wide read = Wide{load.context_tokens} - unseen.context_tokens + load.requests;
    if (pairs > read) sum += Wide{kind.pair.count} * (pairs - read) >> 16;
  }
  return sum;
}

AttentionPart::Linear AttentionPart::linear(const core::StepLoad& load, const core::LoadGrowth& more,
                                            std::int64_t most) const {
  return with_curves(std::max<std::int64_t>(1, load.requests), [&](const Curves& curves) {
    Linear out{Wide{ranked_} * more.ranked_tokens, most};
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const Place at = place(kinds_[k], load, more);
      if (at.growth == 0) continue;
      const TickPiece piece = curves[k].piece(at.tokens);
      out.growth += Wide{piece.slope} * at.growth;
      const std::int64_t within = (std::min(piece.end, at.end) - at.tokens) / at.growth;
      if (within < out.steps) out.steps = within + 1;
    }
    return out;
  });
}

kernels::TimeSource AttentionPart::source(std::int64_t requests, std::int64_t kv_len) const {
  kernels::TimeSource least = kernels::TimeSource::kTable;
  for (const Kind& kind : kinds_)
    least = std::max(least, layer_curve(kind, requests)(static_cast<double>(kv_len)).source);
  return least;
}

}  // namespace kvplan::latency
