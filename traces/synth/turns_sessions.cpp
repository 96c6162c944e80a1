#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/base/units.h"
#include "traces/synth/draws.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::turns_sessions {
namespace {

class Sessions final : public TurnSource {
 public:
  Sessions(double go_on, std::int64_t fixed_turns, double think_ns, double token_ns, std::int64_t most_tokens)
      : go_on_(go_on),
        fixed_turns_(fixed_turns),
        think_ns_(think_ns),
        token_ns_(token_ns),
        most_tokens_(most_tokens) {}
  std::optional<NextTurn> next(Random& session, std::int64_t turn, std::int32_t output) override {
    // Drawn even if it is not used, so that the pauses of a session are the same for any number of turns.
    const double ticket = session.unit();
    const double pause = think_ns_ * draw_exponential(session);
    if (fixed_turns_ > 0 ? turn >= fixed_turns_ : ticket >= go_on_) return std::nullopt;
    static constexpr double kMost = 9e18;  // fits into 64 bits; an arrival that late is refused
    const auto whole = [](double ns) { return static_cast<std::int64_t>(std::floor(std::min(ns, kMost))); };
    return NextTurn{.after_ns = whole(token_ns_ * output + pause), .think_ns = whole(pause)};
  }
  [[nodiscard]] std::int64_t most_tokens() const override { return most_tokens_; }

 private:
  double go_on_;
  std::int64_t fixed_turns_;
  double think_ns_, token_ns_;
  std::int64_t most_tokens_;
};

constexpr std::array<std::string_view, 2> kCounts{"geometric", "fixed"};
constexpr std::array<Param, 5> kParams{
    decimal_param("turns", "Mean number of requests per session, unless the context limit ends it earlier",
                  Unit::kRequests, "", 1, 10'000),
    text_param("count",
               "geometric: after each turn another follows with constant probability; fixed: all sessions "
               "have the same number of turns, a whole number",
               "geometric", kCounts),
    decimal_param("think_s", "Mean pause between an answer and the next turn, exponentially distributed",
                  Unit::kSeconds, "20", 0, 1e7),
    decimal_param("token_s", "Assumed time to generate each token of an answer", Unit::kSeconds, "0.025", 0,
                  100),
    whole_param("context", "A session ends before its prompt plus output would exceed this", Unit::kTokens,
                "131072", 1, kMostTokens)};

Result<std::unique_ptr<TurnSource>> make(const Choice& choice) {
  const double turns = choice.decimal("turns");
  const bool fixed = choice.text("count") == "fixed";
  if (fixed && turns != std::floor(turns))
    return bad_input("expected a whole number with count=fixed").at_field("sessions:turns");
  const auto ns = [&](std::string_view name) {
    return choice.decimal(name) * static_cast<double>(kNsPerSecond);
  };
  return std::unique_ptr<TurnSource>(
      std::make_unique<Sessions>(1 - 1 / turns, fixed ? static_cast<std::int64_t>(turns) : 0, ns("think_s"),
                                 ns("token_s"), choice.integer("context")));
}

}  // namespace

extern const TurnsEntry kMember;
const TurnsEntry kMember{
    .descriptor = {.family = "turns",
                   .name = "sessions",
                   .summary =
                       "Each arrival begins a session. Each later prompt is the whole conversation so far "
                       "plus the drawn number of new tokens; it arrives after the answer and a pause.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::turns_sessions
