// How long a step takes. Integer ticks only: a model rounds its coefficients once, when it is made.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/base/units.h"
#include "simulator/core/step_series.h"

namespace kvplan::core {

/// A pair that takes any time at all then takes longer than a step may be.
inline constexpr std::int64_t kMostAttentionPairs = std::int64_t{1} << 62;

/// Different windows of a model's layers that a step's load tells apart.
inline constexpr std::size_t kMostWindows = 4;

/// Parts of a step's context tokens and attention pairs that layers with a window do not see.
struct UnseenLoad {
  std::int64_t context_tokens{0};
  std::int64_t attention_pairs{0};  ///< cut to kMostAttentionPairs, as all of them are

  void add_pairs(Wide more) {
    attention_pairs =
        static_cast<std::int64_t>(std::min(Wide{attention_pairs} + more, Wide{kMostAttentionPairs}));
  }
};

/// What one step computes.
struct StepLoad {
  std::int64_t requests{0};  ///< requests with at least one token in the step
  std::int64_t tokens{0};    ///< tokens computed
  /// Sum over those requests of tokens computed before the step that attention reads: those that are kept, and with
  /// ReplicaSetup::reads_holes dropped ones whose block is held.
  std::int64_t context_tokens{0};
  /// Sum over those requests of (tokens in the step) x (tokens read before it) + n(n+1)/2 for its own n
  /// tokens: query-key pairs of causal attention. In a decode step: context_tokens + requests. What does not fit
  /// is cut to kMostAttentionPairs.
  std::int64_t attention_pairs{0};
  /// For each different window of the layers, the smallest first (model::windows_of). All zero where memory holds
  /// tokens that have left a window: then kernels read them too.
  std::array<UnseenLoad, kMostWindows> unseen{};
  /// Where layers read a part of what is kept (ReadRule): of the tokens that decoding requests see, those that such
  /// layers do not fetch, and as many query-key pairs; and those whose metadata they go through.
  std::int64_t unread_tokens{0};
  std::int64_t ranked_tokens{0};

  /// What is read of n tokens and computed of them in this step: all pairs of a request.
  static constexpr Wide pairs(Wide read, Wide computed) {
    return computed * read + computed * (computed + 1) / 2;
  }
  void add_pairs(Wide more);
};

inline void StepLoad::add_pairs(Wide more) {
  attention_pairs =
      static_cast<std::int64_t>(std::min(Wide{attention_pairs} + more, Wide{kMostAttentionPairs}));
}

/// How the load changes from each of a run of alike decode steps to the next.
struct LoadGrowth {
  std::int64_t tokens{0};  ///< each request computes one token more; 0 where what was computed is kept
  std::int64_t context_tokens{0};
  std::int64_t attention_pairs{0};  ///< from the first step to the second
  std::int64_t pairs_growth{0};     ///< by so much more from each step to the next
  /// Of each window, to both of what it does not show; at most what is added to all.
  std::array<std::int64_t, kMostWindows> unseen{};
  std::int64_t unread_tokens{0};  ///< at most what is added to all
  std::int64_t ranked_tokens{0};
  friend bool operator==(const LoadGrowth&, const LoadGrowth&) = default;

  /// Every request reads what was stored: contexts and pairs grow alike.
  static constexpr LoadGrowth of_contexts(std::int64_t tokens) {
    return {.context_tokens = tokens, .attention_pairs = tokens};
  }
};

/// A step longer than this (2^60 ticks, 13 days) is cut to it; the engine then reports that time ran out.
inline constexpr std::int64_t kLongestStepTicks = std::int64_t{1} << 60;

/// Stateless; may be shared by replicas and threads.
class LatencyModel {
 public:
  virtual ~LatencyModel() = default;
  /// Duration of one step, at least 0.
  [[nodiscard]] virtual Ticks step(const StepLoad& load) const = 0;
  /// An exact series of at most `max_steps` decode steps that starts with `load` and changes by `growth`, as long as
  /// the model can tell one. REQUIRES: max_steps >= 1, nothing in `growth` below 0.
  /// The result has at least one step, and duration(k) equals step(load of step k) for each of them.
  [[nodiscard]] virtual StepSeries decode_series(const StepLoad& load, const LoadGrowth& growth,
                                                 std::int64_t max_steps) const = 0;
  /// By how much moving so many bytes of one device's memory makes a step longer; nothing where the model knows no
  /// bandwidth.
  [[nodiscard]] virtual Ticks moving(std::int64_t /*bytes*/) const { return {}; }
  /// Of what the durations are made and how that is known, for a report; whole sentences.
  [[nodiscard]] virtual std::vector<std::string> assumptions() const { return {}; }
};

}  // namespace kvplan::core
