#include <array>

#include "simulator/base/units.h"
#include "traces/synth/draws.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::arrivals_batched {
namespace {

class Batched final : public ArrivalProcess {
 public:
  Batched(Random random, std::int64_t batch, double gap_ns, bool constant)
      : random_(random), batch_(batch), gap_ns_(gap_ns), constant_(constant) {}
  Result<bool> next(Arrival& arrival) override {
    if (left_ == 0) {
      KVPLAN_TRY_DO(clock_.advance(constant_ ? gap_ns_ : gap_ns_ * draw_exponential(random_)));
      left_ = batch_;
    }
    --left_;
    arrival.at_ns = clock_.ns();
    return true;
  }

 private:
  Random random_;
  std::int64_t batch_;
  double gap_ns_;
  bool constant_;
  std::int64_t left_{0};
  FineClock clock_;
};

constexpr std::array<std::string_view, 2> kGaps{"constant", "poisson"};
constexpr std::array<Param, 3> kParams{
    rate_param("Mean arrivals per second, counting every request of a batch"),
    whole_param("batch", "Arrivals per batch", Unit::kRequests, "", 1, 1'000'000),
    text_param("gaps", "Gaps between batches: constant, or exponential (a Poisson process)", "poisson",
               kGaps)};

Result<std::unique_ptr<ArrivalProcess>> make(const Choice& choice, const PartContext& context) {
  const std::int64_t batch = choice.integer("batch");
  const double gap_ns =
      static_cast<double>(kNsPerSecond) * static_cast<double>(batch) / choice.decimal("rate_per_s");
  return std::unique_ptr<ArrivalProcess>(
      std::make_unique<Batched>(context.random, batch, gap_ns, choice.text("gaps") == "constant"));
}

}  // namespace

extern const ArrivalsEntry kMember;
const ArrivalsEntry kMember{
    .descriptor =
        {.family = "arrivals",
         .name = "batched",
         .summary =
             "Batches of simultaneous arrivals, as from clients that send lists, or logs with rounded times.",
         .source = "kvplan",
         .params = kParams},
    .make = make};

}  // namespace kvplan::traces::arrivals_batched
