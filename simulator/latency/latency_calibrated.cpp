// A step lasts as long as measured whole steps of an engine: the table `step` of a calibration
// (simulator/io/CALIBRATION_FORMAT.md), interpolated and extrapolated as in step_table.h. Durations are rounded once
// to ticks, when the file is read.
#include <algorithm>
#include <array>

#include "simulator/latency/affine_ticks.h"
#include "simulator/latency/latencies.h"

namespace kvplan::latency::latency_calibrated {
namespace {

class Calibrated final : public core::LatencyModel {
 public:
  explicit Calibrated(StepTable table) : table_(std::move(table)) {}

  [[nodiscard]] Ticks step(const core::StepLoad& load) const override {
    return duration(piece(load), load.context_tokens);
  }

  /// As many steps as the context stays on one straight piece; step by step if each computes more tokens (no KV is
  /// stored).
  [[nodiscard]] core::StepSeries decode_series(const core::StepLoad& load, const core::LoadGrowth& more,
                                               std::int64_t max_steps) const override {
    const StepTable::Piece p = piece(load);
    const Ticks first = duration(p, load.context_tokens);
    if (more.tokens != 0) return {first, Ticks{0}, 1};
    if (more.context_tokens == 0) return {first, Ticks{0}, max_steps};
    const Wide growth = Wide{p.slope} * more.context_tokens;
    // Measured durations that fall, and what is beyond the longest step, go step by step.
    if (growth < 0 || growth > core::kLongestStepTicks) return {first, Ticks{0}, 1};
    const std::int64_t within = (p.end - load.context_tokens) / more.context_tokens;
    const std::int64_t steps = within < max_steps ? within + 1 : max_steps;
    const auto ticks = static_cast<std::int64_t>(growth);
    return {first, Ticks{ticks}, steps_below_cut(first, ticks, steps)};
  }

 private:
  [[nodiscard]] StepTable::Piece piece(const core::StepLoad& load) const {
    return table_.piece(std::max<std::int64_t>(1, load.requests), load.tokens, load.context_tokens);
  }
  static Ticks duration(const StepTable::Piece& p, std::int64_t context) {
    const Wide ticks = p.at_begin + Wide{p.slope} * (context - p.begin);
    return {ticks > core::kLongestStepTicks ? core::kLongestStepTicks : static_cast<std::int64_t>(ticks)};
  }

  StepTable table_;
};

constexpr std::array<Param, 1> kParams{{
    {.name = "file",
     .help = "Calibration (JSON) with a table of whole step times (kvplan calibration info FILE shows it)",
     .kind = ParamKind::kText,
     .fallback = "",
     .names_file = true},
}};

Result<std::unique_ptr<core::LatencyModel>> make(const Choice& choice, const LatencyRequest& request) {
  if (request.measured == nullptr)
    return bad_input("the calibration " + choice.text("file") + " cannot be read in this context")
        .at_field("latency");
  return std::unique_ptr<core::LatencyModel>(std::make_unique<Calibrated>(*request.measured));
}

}  // namespace

extern const LatencyEntry kMember;
const LatencyEntry kMember{
    .descriptor = {.family = "latency",
                   .name = "calibrated",
                   .summary = "Measured durations of whole steps, with linear interpolation between them.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make,
    .steps_param = "file",
    .knows_parts = false};

}  // namespace kvplan::latency::latency_calibrated
