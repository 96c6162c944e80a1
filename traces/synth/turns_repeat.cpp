#include <array>
#include <cmath>
#include <limits>

#include "simulator/base/units.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::turns_repeat {
namespace {

class Repeat final : public TurnSource {
 public:
  Repeat(std::int64_t requests, double think_ns, double token_ns)
      : requests_(requests), think_ns_(think_ns), token_ns_(token_ns) {}
  std::optional<NextTurn> next(Random& /*session*/, std::int64_t turn, std::int32_t output) override {
    if (turn >= requests_) return std::nullopt;
    return NextTurn{.after_ns = std::llround(token_ns_ * output + think_ns_),
                    .think_ns = std::llround(think_ns_)};
  }
  [[nodiscard]] std::int64_t most_tokens() const override { return std::numeric_limits<std::int64_t>::max(); }
  [[nodiscard]] bool remembers() const override { return false; }

 private:
  std::int64_t requests_;
  double think_ns_, token_ns_;
};

constexpr std::array<Param, 3> kParams{
    whole_param("requests", "Requests of each client", Unit::kRequests, "", 1, 1'000'000),
    decimal_param("think_s", "Pause between an answer and the next request", Unit::kSeconds, "0", 0, 1e7),
    decimal_param(
        "token_s",
        "Assumed time to generate each token of an answer, for the arrival times of the trace; runs "
        "wait for their own answers",
        Unit::kSeconds, "0.025", 0, 100)};

Result<std::unique_ptr<TurnSource>> make(const Choice& choice) {
  constexpr auto kNs = static_cast<double>(kNsPerSecond);
  return std::unique_ptr<TurnSource>(std::make_unique<Repeat>(
      choice.integer("requests"), choice.decimal("think_s") * kNs, choice.decimal("token_s") * kNs));
}

}  // namespace

extern const TurnsEntry kMember;
const TurnsEntry kMember{
    .descriptor = {.family = "turns",
                   .name = "repeat",
                   .summary =
                       "Each arrival is a client of a load test. It sends its next request when its last one "
                       "is answered; prompts hold nothing of earlier ones.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::turns_repeat
