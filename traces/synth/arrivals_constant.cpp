#include <array>

#include "simulator/base/fraction.h"
#include "simulator/base/units.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::arrivals_constant {
namespace {

class Constant final : public ArrivalProcess {
 public:
  explicit Constant(const Fraction& rate) : rate_(rate) {}
  Result<bool> next(Arrival& arrival) override {
    const Wide at = Wide{made_++} * kNsPerSecond * rate_.denominator / rate_.numerator;
    if (at > INT64_MAX) return too_late();
    arrival.at_ns = static_cast<std::int64_t>(at);
    return true;
  }

 private:
  Fraction rate_;
  std::int64_t made_{0};
};

constexpr std::array<Param, 1> kParams{
    rate_param("Arrivals per second; a decimal that is a fraction of two numbers below 2^31")};

Result<std::unique_ptr<ArrivalProcess>> make(const Choice& choice, const PartContext& /*context*/) {
  auto rate = parse_fraction(choice.text("rate_per_s"));
  if (!rate.ok()) return std::move(rate).error().at_field("constant:rate_per_s");
  return std::unique_ptr<ArrivalProcess>(std::make_unique<Constant>(rate.value()));
}

}  // namespace

extern const ArrivalsEntry kMember;
const ArrivalsEntry kMember{
    .descriptor =
        {.family = "arrivals",
         .name = "constant",
         .summary =
             "Constant gaps: request i arrives i / rate after the first, rounded down to the nanosecond.",
         .source = "kvplan",
         .params = kParams},
    .make = make};

}  // namespace kvplan::traces::arrivals_constant
