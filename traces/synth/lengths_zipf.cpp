#include <array>

#include "traces/synth/draws.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::lengths_zipf {
namespace {

constexpr double kMostLengths = 1'048'576;

struct Side {
  std::int64_t low;
  Weighted lengths;
};

class Zipf final : public LengthSource {
 public:
  Zipf(Random random, Side input, Side output)
      : random_(random), input_(std::move(input)), output_(std::move(output)) {}
  RequestLengths draw(const Arrival& /*arrival*/) override {
    const std::int32_t input = one(input_);
    return {input, one(output_)};
  }

 private:
  std::int32_t one(const Side& side) {
    return static_cast<std::int32_t>(side.low + static_cast<std::int64_t>(side.lengths.draw(random_)));
  }
  Random random_;
  Side input_, output_;
};

constexpr std::array<Param, 6> kParams{
    whole_param("input_min", "Shortest prompt, the most frequent one", Unit::kTokens, "1", 1, kMostLengths),
    whole_param("input_max", "Longest prompt", Unit::kTokens, "", 1, kMostLengths),
    decimal_param("input_exponent", "Exponent: larger values make long prompts rarer", Unit::kNone, "1", 0,
                  10),
    whole_param("output_min", "Shortest output, the most frequent one", Unit::kTokens, "1", 1, kMostLengths),
    whole_param("output_max", "Longest output", Unit::kTokens, "", 1, kMostLengths),
    decimal_param("output_exponent", "Exponent: larger values make long outputs rarer", Unit::kNone, "1", 0,
                  10)};

Result<Side> side_of(const Choice& choice, const std::string& which) {
  const std::int64_t low = choice.integer(which + "_min");
  const std::int64_t high = choice.integer(which + "_max");
  if (low > high) return bad_input("expected at least " + which + "_min").at_field("zipf:" + which + "_max");
  return Side{low, zipf(static_cast<std::size_t>(low), static_cast<std::size_t>(high - low + 1),
                        choice.decimal(which + "_exponent"))};
}

Result<std::unique_ptr<LengthSource>> make(const Choice& choice, const PartContext& context) {
  KVPLAN_TRY(Side input, side_of(choice, "input"));
  KVPLAN_TRY(Side output, side_of(choice, "output"));
  return std::unique_ptr<LengthSource>(
      std::make_unique<Zipf>(context.random, std::move(input), std::move(output)));
}

}  // namespace

extern const LengthsEntry kMember;
const LengthsEntry kMember{
    .descriptor = {.family = "lengths",
                   .name = "zipf",
                   .summary = "Zipf lengths: k tokens have probability proportional to 1 / k^exponent "
                              "between the shortest and the longest; prompt and output are independent.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::lengths_zipf
