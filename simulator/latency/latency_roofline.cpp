// A step lasts overhead + the longer of computing and reading, on one device that holds the whole model, or on the
// ranks that share it (a rank's share of the work; communication between ranks is not counted) (Williams, Waterman,
// Patterson, CACM 2009; applied to transformer inference as in Yuan et al., arXiv 2402.16363):
//   computing: 2 x weights per token, and 2 x query heads x (key + value size) x layers per query-key pair, over
//              FLOP/s; of experts those of one token
//   reading:   all weights once (in their bits, or the bytes that were loaded), those of all experts too, and the
//              KV bytes of context and new tokens, over bytes/s; states in place of a KV cache once, and as much for
//              writing them
// With sparse attention: only the tokens that are read, and the metadata that is read; choosing takes no time of its
// own.
// Moving data within memory between steps takes twice its bytes over bytes/s more. The peaks are those of the data
// sheet;
// the share of them that kernels reach is a parameter, and an assumption until it is measured.
#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/latency/affine_ticks.h"
#include "simulator/latency/latencies.h"
#include "simulator/model/ranks.h"

namespace kvplan::latency::latency_roofline {
namespace {

class Roofline final : public core::LatencyModel {
 public:
  Roofline(std::int64_t overhead, const AffineTicks& compute, const AffineTicks& read, double bytes_per_tick)
      : overhead_(overhead), compute_(compute), read_(read), bytes_per_tick_(bytes_per_tick) {}

  [[nodiscard]] Ticks step(const core::StepLoad& load) const override {
    const std::int64_t longer = std::max(compute_.of(load).count, read_.of(load).count);
    return {std::min(overhead_ + longer, core::kLongestStepTicks)};
  }

  /// If no KV is stored, computing grows quadratically: such steps are reported one by one as long as they compute
  /// for longer than they read.
  [[nodiscard]] core::StepSeries decode_series(const core::StepLoad& load, const core::LoadGrowth& more,
                                               std::int64_t max_steps) const override {
    if (compute_.curve(more) > 0) return reading_series(load, more, max_steps);
    const Ticks compute = compute_.of(load);
    const Ticks read = read_.of(load);
    const std::int64_t compute_growth = compute_.growth(more);
    const std::int64_t read_growth = read_.growth(more);
    // The longer side stays longer until the other, growing faster, overtakes it.
    const bool computing =
        compute.count != read.count ? compute.count > read.count : compute_growth >= read_growth;
    const std::int64_t lead = computing ? compute.count - read.count : read.count - compute.count;
    const std::int64_t growth = computing ? compute_growth : read_growth;
    const std::int64_t catch_up = (computing ? read_growth : compute_growth) - growth;
    std::int64_t steps = max_steps;
    if (catch_up > 0) steps = std::min(steps, lead / catch_up + 1);
    const Ticks first{std::min(overhead_ + std::max(compute.count, read.count), core::kLongestStepTicks)};
    return {first, Ticks{growth}, steps_below_cut(first, growth, steps)};
  }

  [[nodiscard]] Ticks moving(std::int64_t bytes) const override {
    return moving_ticks(bytes, bytes_per_tick_);
  }

 private:
  /// REQUIRES: the time of computing bends upwards.
  [[nodiscard]] core::StepSeries reading_series(const core::StepLoad& load, const core::LoadGrowth& more,
                                                std::int64_t max_steps) const {
    const Ticks first = step(load);
    const std::int64_t growth = read_.growth(more);
    const Wide lead = Wide{read_.of(load).count} - compute_.of(load).count;
    const Wide catch_up = Wide{compute_.growth(more)} - growth;
    const auto reads = [&](std::int64_t k) {
      return lead >= catch_up * k + Wide{compute_.curve(more)} * (Wide{k} * (k - 1) / 2);
    };
    // The lead is concave: once lost it stays lost. At least the first step is returned.
    std::int64_t steps = 1;
    for (std::int64_t least_not = max_steps; lead >= 0 && steps < least_not;) {
      const std::int64_t middle = steps + (least_not - steps) / 2;
      if (reads(middle)) {
        steps = middle + 1;
      } else {
        least_not = middle;
      }
    }
    return {first, Ticks{growth}, steps_below_cut(first, growth, steps)};
  }

  std::int64_t overhead_;
  AffineTicks compute_;
  AffineTicks read_;
  double bytes_per_tick_;  // that kernels read and write together
};

constexpr std::array<Param, 5> kParams{{
    {.name = "flops",
     .help = "Peak dense half-precision FLOP/s of the device (default: NVIDIA H100 SXM data sheet)",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kFlopsPerSecond,
     .fallback = "989e12",
     .low = 1e9,
     .high = 1e18},
    {.name = "bandwidth",
     .help = "Peak device memory bytes/s (default: NVIDIA H100 SXM data sheet)",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kBytesPerSecond,
     .fallback = "3.35e12",
     .low = 1e9,
     .high = 1e15},
    {.name = "compute_efficiency",
     .help = "Share of the peak FLOP/s that kernels reach",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0.6",
     .low = 0.001,
     .high = 1},
    {.name = "memory_efficiency",
     .help = "Share of the peak bandwidth that kernels reach",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0.8",
     .low = 0.001,
     .high = 1},
    {.name = "overhead_ns",
     .help = "Fixed time per step outside kernels: launches, scheduling, sampling",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kNs,
     .fallback = "500000",
     .low = 0,
     .high = 1e12},
}};

Result<std::unique_ptr<core::LatencyModel>> make(const Choice& choice, const LatencyRequest& request) {
  constexpr double kTicksPerSecond = 1e9 * static_cast<double>(kTicksPerNs);
  const auto ticks = [&](double amount, double per_second) {
    return std::llround(amount / per_second * kTicksPerSecond);
  };
  const double flops = choice.decimal("flops") * choice.decimal("compute_efficiency");
  const double bytes = choice.decimal("bandwidth") * choice.decimal("memory_efficiency");
  const model::ModelShape& shape = request.model;
  KVPLAN_TRY(const auto weights, model::stage_weights(shape, request.tensor_ranks, request.stages,
                                                      request.fine_weight_bits, request.stage_layers));
  double multiplied = 0, read_bytes = 0;
  for (const model::StageWeights& stage : weights) {
    const auto read = static_cast<double>(stage.read_bytes());
    multiplied += static_cast<double>(stage.multiplied());
    read_bytes += request.weights_bytes ? static_cast<double>(*request.weights_bytes) *
                                              (read / static_cast<double>(stage.bytes()))
                                        : read;
  }
  const double pair_flops =
      static_cast<double>(shape.pair_flops()) / static_cast<double>(request.tensor_ranks);
  const auto token_bytes = static_cast<double>(request.token_bytes);
  AffineTicks compute{0, ticks(2 * multiplied, flops), 0, ticks(pair_flops, flops)};
  AffineTicks read{ticks(read_bytes, bytes), ticks(token_bytes, bytes), ticks(token_bytes, bytes), 0};
  // A step reads the states of its requests, and writes them.
  read.each_request =
      ticks(2 * static_cast<double>(model::state_bytes_of(shape, request.tensor_ranks)), bytes);
  compute.share_windows(shape);
  read.share_windows(shape);
  if (const PartlyRead* partly = request.partly; partly != nullptr) {
    compute.share_parts(shape, *partly, 0);
    read.share_parts(shape, *partly, ticks(static_cast<double>(partly->ranked_token_bytes), bytes));
  }
  const auto overhead = decimal_times_power_of_two(choice.text("overhead_ns"), 10);
  if (!overhead) return bad_input("expected a plain decimal number").at_field("roofline:overhead_ns");
  return std::unique_ptr<core::LatencyModel>(
      std::make_unique<Roofline>(*overhead, compute, read, bytes / kTicksPerSecond));
}

constexpr std::array<LatencyEntry::DeviceParam, 2> kOfDevice{
    {{"flops", model::DeviceFigure::kBf16Flops}, {"bandwidth", model::DeviceFigure::kBandwidth}}};

}  // namespace

extern const LatencyEntry kMember;
const LatencyEntry kMember{
    .descriptor = {.family = "latency",
                   .name = "roofline",
                   .summary = "A step takes the longer of compute time and memory read time at a share of "
                              "the device's peaks, plus an overhead.",
                   .source = "Williams et al., CACM 2009; arXiv 2402.16363",
                   .params = kParams},
    .make = make,
    .assumption =
        "Step times are roofline estimates with assumed efficiencies, not measured. Use them to compare "
        "policies, not to quote latencies.",
    .counts_weights = true,
    .of_device = kOfDevice,
    .ideal_ranks = true,
    .reads_all_experts = true};

}  // namespace kvplan::latency::latency_roofline
