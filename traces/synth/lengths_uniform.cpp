#include <array>

#include "traces/synth/parts.h"

namespace kvplan::traces::lengths_uniform {
namespace {

struct Range {
  std::int64_t low, high;
};

class Uniform final : public LengthSource {
 public:
  Uniform(Random random, Range input, Range output) : random_(random), input_(input), output_(output) {}
  RequestLengths draw(const Arrival& /*arrival*/) override {
    const std::int64_t input = random_.between(input_.low, input_.high);
    return {static_cast<std::int32_t>(input),
            static_cast<std::int32_t>(random_.between(output_.low, output_.high))};
  }
  [[nodiscard]] std::int64_t least_input() const override { return input_.low; }

 private:
  Random random_;
  Range input_, output_;
};

constexpr std::array<Param, 4> kParams{
    whole_param("input_min", "Shortest prompt", Unit::kTokens, "1", 1, kMostTokens),
    whole_param("input_max", "Longest prompt", Unit::kTokens, "", 1, kMostTokens),
    whole_param("output_min", "Shortest output", Unit::kTokens, "1", 1, kMostTokens),
    whole_param("output_max", "Longest output", Unit::kTokens, "", 1, kMostTokens)};

Result<std::unique_ptr<LengthSource>> make(const Choice& choice, const PartContext& context) {
  const Range input{choice.integer("input_min"), choice.integer("input_max")};
  const Range output{choice.integer("output_min"), choice.integer("output_max")};
  if (input.low > input.high) return bad_input("expected at least input_min").at_field("uniform:input_max");
  if (output.low > output.high)
    return bad_input("expected at least output_min").at_field("uniform:output_max");
  return std::unique_ptr<LengthSource>(std::make_unique<Uniform>(context.random, input, output));
}

}  // namespace

extern const LengthsEntry kMember;
const LengthsEntry kMember{
    .descriptor = {.family = "lengths",
                   .name = "uniform",
                   .summary =
                       "Uniform lengths between two limits, inclusive; prompt and output are independent.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::lengths_uniform
