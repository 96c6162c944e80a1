#include <array>

#include "simulator/base/units.h"
#include "traces/synth/draws.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::arrivals_gamma {
namespace {

class Gamma final : public ArrivalProcess {
 public:
  Gamma(Random random, double shape, double scale_ns) : random_(random), shape_(shape), scale_ns_(scale_ns) {}
  Result<bool> next(Arrival& arrival) override {
    KVPLAN_TRY_DO(clock_.advance(scale_ns_ * draw_gamma(random_, shape_)));
    arrival.at_ns = clock_.ns();
    return true;
  }

 private:
  Random random_;
  double shape_, scale_ns_;
  FineClock clock_;
};

constexpr std::array<Param, 2> kParams{rate_param("Mean arrivals per second"),
                                       decimal_param("cv",
                                                     "Coefficient of variation of the gaps: 1 is a Poisson "
                                                     "process, more is burstier, less is more regular",
                                                     Unit::kRatio, "", 0.001, 1000)};

Result<std::unique_ptr<ArrivalProcess>> make(const Choice& choice, const PartContext& context) {
  const double square = choice.decimal("cv") * choice.decimal("cv");
  const double gap_ns = static_cast<double>(kNsPerSecond) / choice.decimal("rate_per_s");
  return std::unique_ptr<ArrivalProcess>(
      std::make_unique<Gamma>(context.random, 1 / square, gap_ns * square));
}

}  // namespace

extern const ArrivalsEntry kMember;
const ArrivalsEntry kMember{
    .descriptor =
        {.family = "arrivals",
         .name = "gamma",
         .summary = "Gaps with a gamma distribution and a chosen coefficient of variation.",
         .source =
             "the burstiness of vLLM's bench serve is 1 / cv^2; sampling: Marsaglia and Tsang, ACM TOMS 2000",
         .params = kParams},
    .make = make};

}  // namespace kvplan::traces::arrivals_gamma
