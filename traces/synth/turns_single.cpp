#include <limits>

#include "traces/synth/parts.h"

namespace kvplan::traces::turns_single {
namespace {

class Single final : public TurnSource {
 public:
  std::optional<NextTurn> next(Random& /*session*/, std::int64_t /*turn*/, std::int32_t /*output*/) override {
    return std::nullopt;
  }
  [[nodiscard]] std::int64_t most_tokens() const override { return std::numeric_limits<std::int64_t>::max(); }
  [[nodiscard]] bool has_sessions() const override { return false; }
};

Result<std::unique_ptr<TurnSource>> make(const Choice& /*choice*/) {
  return std::unique_ptr<TurnSource>(std::make_unique<Single>());
}

}  // namespace

extern const TurnsEntry kMember;
const TurnsEntry kMember{.descriptor = {.family = "turns",
                                        .name = "single",
                                        .summary = "Every session has one request.",
                                        .source = "kvplan",
                                        .params = {}},
                         .make = make};

}  // namespace kvplan::traces::turns_single
