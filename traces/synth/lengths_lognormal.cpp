#include <array>
#include <cmath>

#include "simulator/base/json_writer.h"
#include "simulator/base/real.h"
#include "traces/synth/draws.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::lengths_lognormal {
namespace {

/// The logarithm of a length is normal with this mean and standard deviation.
struct Side {
  double mean_log, deviation_log;
  std::int64_t most;
};

class Lognormal final : public LengthSource {
 public:
  Lognormal(Random random, const Side& input, const Side& output)
      : random_(random), input_(input), output_(output) {}
  RequestLengths draw(const Arrival& /*arrival*/) override {
    const std::int32_t input = one(input_);
    return {input, one(output_)};
  }

 private:
  std::int32_t one(const Side& side) {
    return whole_tokens(exponential(side.mean_log + side.deviation_log * draw_normal(random_)), side.most);
  }
  Random random_;
  Side input_, output_;
};

constexpr Param mean(std::string_view name, std::string_view help) {
  return decimal_param(name, help, Unit::kTokens, "", 1, kMostTokens);
}
constexpr Param median(std::string_view name, std::string_view help) {
  return decimal_param(name, help, Unit::kTokens, "0", 0, kMostTokens);
}
constexpr Param variation(std::string_view name, std::string_view help) {
  return decimal_param(name, help, Unit::kRatio, "1", 0.001, 100);
}
constexpr Param cap(std::string_view name, std::string_view help) {
  return whole_param(name, help, Unit::kTokens, "1048576", 1, kMostTokens);
}
constexpr std::array<Param, 8> kParams{
    mean("input_mean", "Mean prompt length, before rounding and the cap"),
    median("input_p50", "Median prompt length, at most the mean; 0 = use the coefficient of variation"),
    variation("input_cv", "Coefficient of variation of prompt lengths, if no median is given"),
    cap("input_max", "Cap on prompt lengths"),
    mean("output_mean", "Mean output length, before rounding and the cap"),
    median("output_p50", "Median output length, at most the mean; 0 = use the coefficient of variation"),
    variation("output_cv", "Coefficient of variation of output lengths, if no median is given"),
    cap("output_max", "Cap on output lengths")};

/// Mean m and median p: the logarithm's mean is ln p, its variance 2 ln (m / p). Mean m and variation v: its variance
/// is ln (1 + v^2), its mean ln m less half of that.
Result<Side> side_of(const Choice& choice, const std::string& which) {
  const double mean = choice.decimal(which + "_mean");
  const double median = choice.decimal(which + "_p50");
  const std::int64_t most = choice.integer(which + "_max");
  if (median > 0) {
    const std::string field = "lognormal:" + which + "_p50";
    if (choice.given(which + "_cv"))
      return bad_input("expected a median or a coefficient of variation, found both").at_field(field);
    if (median > mean || median < 0.01)
      return bad_input("expected a median from 0.01 to the mean " + shortest(mean) + ", found " +
                       shortest(median))
          .at_field(field);
    return Side{natural_log(median), std::sqrt(2 * natural_log(mean / median)), most};
  }
  const double cv = choice.decimal(which + "_cv");
  const double variance = natural_log(1 + cv * cv);
  return Side{natural_log(mean) - variance / 2, std::sqrt(variance), most};
}

Result<std::unique_ptr<LengthSource>> make(const Choice& choice, const PartContext& context) {
  KVPLAN_TRY(const Side input, side_of(choice, "input"));
  KVPLAN_TRY(const Side output, side_of(choice, "output"));
  return std::unique_ptr<LengthSource>(std::make_unique<Lognormal>(context.random, input, output));
}

}  // namespace

extern const LengthsEntry kMember;
const LengthsEntry kMember{
    .descriptor = {.family = "lengths",
                   .name = "lognormal",
                   .summary = "Log-normal lengths with a given mean and median, or mean and coefficient of "
                              "variation; rounded, at least 1; prompt and output are independent.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::lengths_lognormal
