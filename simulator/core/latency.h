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

/// Counts of query-key pairs are limited to this. With more pairs, a step would be longer than allowed at any speed.
inline constexpr std::int64_t kMostAttentionPairs = std::int64_t{1} << 62;

/// Most different window sizes among a model's layers for which a step's load has separate counts.
inline constexpr std::size_t kMostWindows = 4;

/// The part of a step's context tokens and attention pairs that layers with a window do not see.
struct UnseenLoad {
  std::int64_t context_tokens{0};
  std::int64_t attention_pairs{0};  ///< cut to kMostAttentionPairs, like all counts of pairs

  void add_pairs(Wide more) {
    attention_pairs =
        static_cast<std::int64_t>(std::min(Wide{attention_pairs} + more, Wide{kMostAttentionPairs}));
  }
};

/// What one step computes.
struct StepLoad {
  std::int64_t requests{0};  ///< requests with at least one token in the step
  std::int64_t tokens{0};    ///< tokens computed
  /// Tokens that attention reads and that were computed before the step, summed over those requests: kept
  /// tokens and, with ReplicaSetup::reads_holes, dropped ones in blocks that are held.
  std::int64_t context_tokens{0};
  /// Query-key pairs of causal attention, summed over those requests: with n tokens in the step, n x (tokens
  /// read before it) + n(n+1)/2. In a decode step: context_tokens + requests. Cut to kMostAttentionPairs.
  std::int64_t attention_pairs{0};
  /// One entry for each different window of the layers, smallest first (model::windows_of). All zero where
  /// tokens outside a window stay in memory: kernels then read them too.
  std::array<UnseenLoad, kMostWindows> unseen{};
  /// Sparse attention (ReadRule), over decoding requests: visible tokens that the sparse layers do not fetch
  /// (and as many query-key pairs), and tokens of which they read the metadata.
  std::int64_t unread_tokens{0};
  std::int64_t ranked_tokens{0};

  /// Pairs of one request that reads `read` tokens and computes `computed` tokens in this step.
  static constexpr Wide pairs(Wide read, Wide computed) {
    return computed * read + computed * (computed + 1) / 2;
  }
  void add_pairs(Wide more);
};

inline void StepLoad::add_pairs(Wide more) {
  attention_pairs =
      static_cast<std::int64_t>(std::min(Wide{attention_pairs} + more, Wide{kMostAttentionPairs}));
}

/// How the load changes from one decode step of a run to the next.
struct LoadGrowth {
  std::int64_t tokens{0};  ///< growth per step: one token per request; 0 where computed tokens are kept
  std::int64_t context_tokens{0};
  std::int64_t attention_pairs{0};  ///< change from the first step to the second
  std::int64_t pairs_growth{0};     ///< by how much that change grows with each further step
  /// For each window: growth of both unseen counts; at most the growth of the totals.
  std::array<std::int64_t, kMostWindows> unseen{};
  std::int64_t unread_tokens{0};  ///< at most the growth of the total
  std::int64_t ranked_tokens{0};
  friend bool operator==(const LoadGrowth&, const LoadGrowth&) = default;

  /// Growth where every request reads all its stored tokens: contexts and pairs grow by the same number.
  static constexpr LoadGrowth of_contexts(std::int64_t tokens) {
    return {.context_tokens = tokens, .attention_pairs = tokens};
  }
};

/// A longer step (2^60 ticks, 13 days) is cut to this; the engine then reports that time ran out.
inline constexpr std::int64_t kLongestStepTicks = std::int64_t{1} << 60;

/// A latency model. Stateless; may be shared by replicas and threads.
class LatencyModel {
 public:
  virtual ~LatencyModel() = default;
  /// Duration of one step, at least 0.
  [[nodiscard]] virtual Ticks step(const StepLoad& load) const = 0;
  /// An exact series of at most `max_steps` decode steps that starts with `load` and changes by `growth`;
  /// shorter where the model has no closed form. REQUIRES: max_steps >= 1, nothing in `growth` below 0. The
  /// result has at least one step, and duration(k) equals step(load of step k) for each.
  [[nodiscard]] virtual StepSeries decode_series(const StepLoad& load, const LoadGrowth& growth,
                                                 std::int64_t max_steps) const = 0;
  /// By how much a step becomes longer if so many bytes are moved within one device's memory; 0 if the model has no
  /// bandwidth.
  [[nodiscard]] virtual Ticks moving(std::int64_t /*bytes*/) const { return {}; }
  /// Whole sentences for a report: what the durations are made of and how each figure is known.
  [[nodiscard]] virtual std::vector<std::string> assumptions() const { return {}; }
};

}  // namespace kvplan::core
