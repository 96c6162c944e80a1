#include <array>

#include "traces/synth/parts.h"

namespace kvplan::traces::lengths_fixed {
namespace {

class Fixed final : public LengthSource {
 public:
  explicit Fixed(RequestLengths lengths) : lengths_(lengths) {}
  RequestLengths draw(const Arrival& /*arrival*/) override { return lengths_; }
  [[nodiscard]] std::int64_t least_input() const override { return lengths_.input; }

 private:
  RequestLengths lengths_;
};

constexpr std::array<Param, 2> kParams{
    whole_param("input", "Length of every prompt", Unit::kTokens, "", 1, kMostTokens),
    whole_param("output", "Length of every output", Unit::kTokens, "", 1, kMostTokens)};

Result<std::unique_ptr<LengthSource>> make(const Choice& choice, const PartContext& /*context*/) {
  return std::unique_ptr<LengthSource>(
      std::make_unique<Fixed>(RequestLengths{static_cast<std::int32_t>(choice.integer("input")),
                                             static_cast<std::int32_t>(choice.integer("output"))}));
}

}  // namespace

extern const LengthsEntry kMember;
const LengthsEntry kMember{.descriptor = {.family = "lengths",
                                          .name = "fixed",
                                          .summary = "All requests have the same lengths.",
                                          .source = "kvplan",
                                          .params = kParams},
                           .make = make};

}  // namespace kvplan::traces::lengths_fixed
