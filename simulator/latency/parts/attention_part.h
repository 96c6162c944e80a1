// How long the attention of a step takes on one rank, all layers one after the other.
//
//   decode    R requests that see N tokens together: a layer takes the time in the kernels' table for R sequences of
//             N / R tokens each (simulator/kernels: measured calls exactly, straight lines between). If no table has
//             this engine on this device, the attention roofline, on straight lines between powers of two. Requests
//             of different lengths count by their tokens together. A prompt chunk reads its context like a decoding
//             request
//   prompts   query-key pairs beyond one for each token that is read: measured times (prompt_part.h), or FLOPs at a
//             share of the device's peak. They come after decode attention, not beside it (engines without a fused
//             kernel: POD-Attention, arXiv 2410.18038)
//
// In a layer with a window, N counts what the window shows as long as that is less than R windows, and whole lengths
// from there on: kernels take longer for a window within a long sequence than for a sequence of its length. If memory
// holds tokens outside windows and kernels read them, all layers are equal.
//
// With sparse attention (core::ReadRule), N counts the fetched tokens, as sequences of that length, and metadata is
// read before that. A layer in which only some heads are sparse counts by its share of heads.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "simulator/core/latency.h"
#include "simulator/kernels/decode_times.h"
#include "simulator/kernels/measured_engines.h"
#include "simulator/latency/parts/prompt_part.h"
#include "simulator/latency/parts/step_shape.h"
#include "simulator/latency/parts/tick_curve.h"
#include "simulator/model/layer_groups.h"

namespace kvplan::latency {

class AttentionPart {
 public:
  /// `tables`: for the device and engine; empty for the roofline alone. `compute_efficiency`: share of the peak
  /// FLOP/s that prompt attention reaches if `prompts` is empty. Keeps no reference.
  AttentionPart(const StepShape& shape, kernels::DecodeTimes tables, double compute_efficiency,
                PromptPart prompts = {});
  ~AttentionPart();
  AttentionPart(const AttentionPart&) = delete;
  AttentionPart& operator=(const AttentionPart&) = delete;

  [[nodiscard]] Wide ticks(const core::StepLoad& load) const {
    return decode_ticks(load) + prompt_ticks(load);
  }
  /// The part of `ticks` for decode attention.
  [[nodiscard]] Wide decode_ticks(const core::StepLoad& load) const;
  /// The rest.
  [[nodiscard]] Wide prompt_ticks(const core::StepLoad& load) const;

  /// How `ticks` continues from step to step.
  struct Linear {
    Wide growth{0};         ///< from each step to the next; below 0 if measured times fall
    std::int64_t steps{1};  ///< number of steps for which that holds, this one included
  };
  /// REQUIRES: each further step of `more` adds as many pairs as tokens of context, and computes as many tokens.
  [[nodiscard]] Linear linear(const core::StepLoad& load, const core::LoadGrowth& more,
                              std::int64_t most) const;

  /// How certain the time of a step is in which each of `requests` decodes with `kv_len` tokens, its own included:
  /// the least certain source of its layers.
  [[nodiscard]] kernels::TimeSource source(std::int64_t requests, std::int64_t kv_len) const;
  [[nodiscard]] const kernels::DecodeTimes& tables() const { return tables_; }
  [[nodiscard]] const PromptPart& prompts() const { return prompts_; }

 private:
  /// Layers of one shape and window.
  struct Kind {
    model::LayerCache cache;                 ///< of a rank
    double layers{0};                        ///< a fraction if heads of a layer read differently
    bool in_part{false};                     ///< true: it does not fetch StepLoad::unread_tokens
    std::size_t unseen{core::kMostWindows};  ///< of StepLoad; kMostWindows: none
    FineTicks pair{};                        ///< time of a query-key pair in all of them
  };
  using Curves = std::vector<TickCurve>;  ///< by kind, over the tokens of all requests together

  void add_layers(const model::LayerCache& cache, bool in_part, double layers,
                  const std::vector<model::WindowLayers>& windows);
  [[nodiscard]] kernels::TimeCurve layer_curve(const Kind& kind, std::int64_t requests) const;
  [[nodiscard]] Curves curves_of(std::int64_t requests) const;
  /// Calls `use(curves)` with the curves for this many requests.
  template <class Use>
  auto with_curves(std::int64_t requests, Use use) const;

  /// The position of a kind on its curve, and how far it moves with each step.
  struct Place {
    std::int64_t tokens{0}, growth{0};
    std::int64_t end{kNoEnd};  ///< positions from here on have another meaning
  };
  [[nodiscard]] static Place place(const Kind& kind, const core::StepLoad& load,
                                   const core::LoadGrowth& more);

  /// Curves for up to this many requests are kept after their first use.
  static constexpr std::int64_t kKept = 4096;

  model::DeviceShape device_;
  kernels::DecodeTimes tables_;
  PromptPart prompts_;
  std::int64_t query_heads_{1};
  double elem_bytes_{2};
  std::vector<Kind> kinds_;
  std::int64_t ranked_{0};  ///< ticks for the metadata of a token
  std::int64_t states_{0};  ///< ticks in which the states of a request are read and written
  /// By number of requests; filled by the first thread that asks
  std::unique_ptr<std::atomic<const Curves*>[]> kept_;
};

}  // namespace kvplan::latency
