// How long the attention of a step takes, on one rank, all layers after each other.
//
//   decode    of R requests that see N tokens together: a layer takes what the kernels' table says of R sequences of
//             N / R tokens each (simulator/kernels: measured calls exactly, straight lines between), or, where no table
//             has this engine on this device, the attention roofline, on straight lines between powers of two. Requests
//             of different lengths count by their tokens together. A piece of a prompt reads its context like a request
//             that decodes
//   prompts   query-key pairs beyond one for each token that is read: FLOPs at a share of the device's peak. They come
//             after decode attention, not beside it (engines without a fused kernel: POD-Attention, arXiv 2410.18038)
//
// In a layer that sees a window, N counts what the window shows as long as that is less than R windows, and whole
// lengths from there on: kernels take longer for a window within a long sequence than for a sequence of its length.
// Where memory holds and kernels read tokens outside windows too, layers are alike.
//
// Where layers read a part (core::ReadRule), N counts what they fetch, as of sequences of that length, and their
// metadata is read before that. Of a layer in which some heads read a part, these are that share of it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "simulator/core/latency.h"
#include "simulator/kernels/decode_times.h"
#include "simulator/latency/parts/step_shape.h"
#include "simulator/latency/parts/tick_curve.h"
#include "simulator/model/layer_groups.h"

namespace kvplan::latency {

class AttentionPart {
 public:
  /// `tables`: of the device and engine; empty for the roofline alone. `compute_efficiency`: share of the peak FLOP/s
  /// that attention of prompts reaches. Keeps no reference.
  AttentionPart(const StepShape& shape, kernels::DecodeTimes tables, double compute_efficiency);
  ~AttentionPart();
  AttentionPart(const AttentionPart&) = delete;
  AttentionPart& operator=(const AttentionPart&) = delete;

  [[nodiscard]] Wide ticks(const core::StepLoad& load) const;
  /// Of `ticks`, decode attention.
  [[nodiscard]] Wide decode_ticks(const core::StepLoad& load) const;

  /// How `ticks` goes on from step to step.
  struct Linear {
    Wide growth{0};         ///< from each step to the next; below 0 where measured times fall
    std::int64_t steps{1};  ///< for which that holds, this one counted
  };
  /// REQUIRES: each step of `more` adds as many pairs as tokens of context, and computes as many tokens.
  [[nodiscard]] Linear linear(const core::StepLoad& load, const core::LoadGrowth& more,
                              std::int64_t most) const;

  /// What is known of a step in which each of `requests` decodes with `kv_len` tokens, its own included: the least
  /// sure source of its layers.
  [[nodiscard]] kernels::TimeSource source(std::int64_t requests, std::int64_t kv_len) const;
  [[nodiscard]] const kernels::DecodeTimes& tables() const { return tables_; }

 private:
  /// Layers of one shape and window.
  struct Kind {
    model::LayerCache cache;                 ///< of a rank
    double layers{0};                        ///< shares of layers, where heads of one read differently
    bool in_part{false};                     ///< it does not fetch StepLoad::unread_tokens
    std::size_t unseen{core::kMostWindows};  ///< of StepLoad; kMostWindows: none
    FineTicks pair{};                        ///< of a query-key pair in all of them
  };
  using Curves = std::vector<TickCurve>;  ///< by kind, over tokens of all requests together

  void add_layers(const model::LayerCache& cache, bool in_part, double layers,
                  const std::vector<model::WindowLayers>& windows);
  [[nodiscard]] kernels::TimeCurve layer_curve(const Kind& kind, std::int64_t requests) const;
  [[nodiscard]] Curves curves_of(std::int64_t requests) const;
  /// Calls `use(curves)` with those of so many requests.
  template <class Use>
  auto with_curves(std::int64_t requests, Use use) const;

  /// Where on its curve a kind is, and how far it goes there with each step.
  struct Place {
    std::int64_t tokens{0}, growth{0};
    std::int64_t end{kNoEnd};  ///< the place means something else from there on
  };
  [[nodiscard]] static Place place(const Kind& kind, const core::StepLoad& load,
                                   const core::LoadGrowth& more);

  /// Curves of up to so many requests are kept once they were asked for.
  static constexpr std::int64_t kKept = 4096;

  model::DeviceShape device_;
  kernels::DecodeTimes tables_;
  std::int64_t query_heads_{1};
  double elem_bytes_{2};
  std::vector<Kind> kinds_;
  std::int64_t ranked_{0};                              ///< ticks of the metadata of a token
  std::unique_ptr<std::atomic<const Curves*>[]> kept_;  ///< by requests; filled by whoever asks first
};

}  // namespace kvplan::latency
