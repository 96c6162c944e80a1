// Sums of coefficient x amount in ticks, without overflow: shared by several latency models.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "simulator/base/component.h"
#include "simulator/base/units.h"
#include "simulator/core/latency.h"
#include "simulator/latency/latencies.h"
#include "simulator/model/layer_groups.h"
#include "simulator/model/model_shape.h"

namespace kvplan::latency {

/// A coefficient in ns that a user gives.
constexpr Param coefficient(std::string_view name, std::string_view help, std::string_view fallback) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kDecimal,
          .unit = Unit::kNs,
          .fallback = fallback,
          .low = 0,
          .high = 1e12,
          .choices = {}};
}

/// base + per token + per context token + per attention pair, in ticks; coefficients >= 0.
struct AffineTicks {
  std::int64_t base{0};
  std::int64_t token{0};
  std::int64_t context{0};
  std::int64_t pair{0};
  /// Parts of `context` and `pair` that belong to the layers of each window (StepLoad::unseen).
  std::array<std::int64_t, core::kMostWindows> window_context{}, window_pair{};
  std::size_t windows{0};  ///< number of windows
  /// Parts of `context` and `pair` that belong to layers with sparse attention (StepLoad::unread_tokens); and the
  /// time of a token that they rank.
  std::int64_t part_context{0}, part_pair{0}, ranked{0};
  bool in_part{false};           ///< true: one of these is not 0
  std::int64_t each_request{0};  ///< time of each request of a step; equal in all steps of a series

  /// Sets the parts of `context` and `pair` for layers with windows, rounded down; all layers take equal time.
  void share_windows(const model::ModelShape& shape) {
    const auto layers = model::windows_of(shape);
    windows = std::min(layers.size(), core::kMostWindows);
    for (std::size_t w = 0; w < windows; ++w) {
      const auto share = [&](std::int64_t all) {
        return static_cast<std::int64_t>(Wide{all} * layers[w].layers / shape.attention_layers());
      };
      window_context[w] = share(context);
      window_pair[w] = share(pair);
    }
  }

  /// Sets the shares of layers with sparse attention, rounded down; `ranked_ticks`: time for the metadata of a token.
  void share_parts(const model::ModelShape& shape, const PartlyRead& partly, std::int64_t ranked_ticks) {
    const auto share = [](std::int64_t all, double part) {
      return static_cast<std::int64_t>(static_cast<double>(all) * part);
    };
    part_context = share(context, partly.of_bytes(shape));
    part_pair = share(pair, partly.of_layers());
    ranked = ranked_ticks;
    in_part = (part_context | part_pair | ranked) != 0;
  }
  /// The same for models that convert bytes of metadata into tokens of context.
  void share_parts(const LatencyRequest& request) {
    if (request.partly == nullptr) return;
    const double bytes =
        static_cast<double>(request.partly->ranked_token_bytes) / static_cast<double>(request.token_bytes);
    share_parts(request.model, *request.partly, std::llround(static_cast<double>(context) * bytes));
  }

  /// Exact, at most core::kLongestStepTicks.
  [[nodiscard]] Ticks of(const core::StepLoad& load) const {
    Wide sum = Wide{base} + Wide{token} * load.tokens + Wide{context} * load.context_tokens +
               Wide{pair} * load.attention_pairs + Wide{each_request} * load.requests;
    for (std::size_t w = 0; w < windows; ++w)
      sum -= Wide{window_context[w]} * load.unseen[w].context_tokens +
             Wide{window_pair[w]} * load.unseen[w].attention_pairs;
    if (in_part) sum += of_parts(load.ranked_tokens, load.unread_tokens);
    return {sum > core::kLongestStepTicks ? core::kLongestStepTicks : static_cast<std::int64_t>(sum)};
  }
  /// Increase of the duration from the first step to the second; limited like the duration of a step.
  [[nodiscard]] std::int64_t growth(const core::LoadGrowth& load) const {
    Wide more =
        Wide{token} * load.tokens + Wide{context} * load.context_tokens + Wide{pair} * load.attention_pairs;
    for (std::size_t w = 0; w < windows; ++w)
      more -= (Wide{window_context[w]} + window_pair[w]) * load.unseen[w];
    if (in_part) more += of_parts(load.ranked_tokens, load.unread_tokens);
    return cut(more);
  }
  /// Increase of `growth` from step to step.
  [[nodiscard]] std::int64_t curve(const core::LoadGrowth& load) const {
    return cut(Wide{pair} * load.pairs_growth);
  }

 private:
  /// Time added by ranking tokens, minus the time of tokens that are not fetched.
  [[nodiscard]] Wide of_parts(std::int64_t ranked_tokens, std::int64_t unread_tokens) const {
    return Wide{ranked} * ranked_tokens - (Wide{part_context} + part_pair) * unread_tokens;
  }
  static std::int64_t cut(Wide ticks) {
    return ticks > core::kLongestStepTicks ? core::kLongestStepTicks : static_cast<std::int64_t>(ticks);
  }
};

/// Time to move bytes within device memory: each byte is read once and written once.
inline Ticks moving_ticks(std::int64_t bytes, double bytes_per_tick) {
  const double ticks = 2 * static_cast<double>(bytes) / bytes_per_tick;
  return {ticks < static_cast<double>(core::kLongestStepTicks) ? std::llround(ticks)
                                                               : core::kLongestStepTicks};
}

/// Length of the longest prefix of the series in which no step reaches the limit, at least one step.
inline std::int64_t steps_below_cut(Ticks first, std::int64_t growth, std::int64_t most) {
  if (growth == 0 || most == 1) return most;
  const std::int64_t room = (core::kLongestStepTicks - first.count) / growth;
  return room + 1 < most ? (room < 0 ? 1 : room + 1) : most;
}

}  // namespace kvplan::latency
