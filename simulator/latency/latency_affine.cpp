// A step lasts base + token x (tokens scheduled) + context x (tokens computed before it and still kept, summed over
// the scheduled requests). The simplest model in which prefill, decode and context all cost something; its
// coefficients can be fitted to any engine's log. Layers with a window have their share of the last coefficient, for
// the tokens that they see.
#include <array>

#include "simulator/latency/affine_ticks.h"
#include "simulator/latency/latencies.h"

namespace kvplan::latency::latency_affine {
namespace {

class Affine final : public core::LatencyModel {
 public:
  explicit Affine(const AffineTicks& ticks) : ticks_(ticks) {}
  [[nodiscard]] Ticks step(const core::StepLoad& load) const override { return ticks_.of(load); }
  [[nodiscard]] core::StepSeries decode_series(const core::StepLoad& load, const core::LoadGrowth& growth,
                                               std::int64_t max_steps) const override {
    const Ticks first = ticks_.of(load);
    const std::int64_t more = ticks_.growth(growth);
    return {first, Ticks{more}, steps_below_cut(first, more, max_steps)};
  }

 private:
  AffineTicks ticks_;
};

constexpr std::array<Param, 3> kParams{
    coefficient("base_ns", "Fixed time per step", "5000000"),
    coefficient("token_ns", "Time per token computed in the step", "40000"),
    coefficient("context_ns", "Time per token of context that the step reads", "50"),
};

Result<std::unique_ptr<core::LatencyModel>> make(const Choice& choice, const LatencyRequest& request) {
  // Rounded once to ticks of 2^-10 ns, halves up.
  const auto ticks = [&](std::string_view name) {
    return decimal_times_power_of_two(choice.text(name), 10).value_or(-1);
  };
  AffineTicks affine{ticks("base_ns"), ticks("token_ns"), ticks("context_ns")};
  if (affine.base < 0 || affine.token < 0 || affine.context < 0)
    return bad_input("expected coefficients as plain decimals").at_field("latency");
  affine.share_windows(request.model);
  affine.share_parts(request);
  return std::unique_ptr<core::LatencyModel>(std::make_unique<Affine>(affine));
}

}  // namespace

extern const LatencyEntry kMember;
const LatencyEntry kMember{
    .descriptor = {.family = "latency",
                   .name = "affine",
                   .summary =
                       "A step takes a fixed time, a time per computed token and a time per context token.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::latency::latency_affine
