#include <array>

#include "simulator/base/units.h"
#include "traces/synth/draws.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::arrivals_poisson {
namespace {

class Poisson final : public ArrivalProcess {
 public:
  Poisson(Random random, double gap_ns) : random_(random), gap_ns_(gap_ns) {}
  Result<bool> next(Arrival& arrival) override {
    KVPLAN_TRY_DO(clock_.advance(gap_ns_ * draw_exponential(random_)));
    arrival.at_ns = clock_.ns();
    return true;
  }

 private:
  Random random_;
  double gap_ns_;
  FineClock clock_;
};

constexpr std::array<Param, 1> kParams{rate_param("Mean arrivals per second")};

Result<std::unique_ptr<ArrivalProcess>> make(const Choice& choice, const PartContext& context) {
  return std::unique_ptr<ArrivalProcess>(std::make_unique<Poisson>(
      context.random, static_cast<double>(kNsPerSecond) / choice.decimal("rate_per_s")));
}

}  // namespace

extern const ArrivalsEntry kMember;
const ArrivalsEntry kMember{
    .descriptor = {.family = "arrivals",
                   .name = "poisson",
                   .summary = "A Poisson process, as from many independent users: gaps are exponential, with "
                              "a coefficient of variation of 1.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::arrivals_poisson
