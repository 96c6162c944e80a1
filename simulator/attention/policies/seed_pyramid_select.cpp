// The selection of the founding notes' pyramid: half of the budget is the newest tokens, the other half those that
// the last query finds most important.
#include <algorithm>
#include <array>
#include <memory>

#include "simulator/attention/kernels.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention {
namespace {

constexpr int kScore = 0;
constexpr std::array<std::string_view, 2> kScores{"weight", "prefix"};

class SeedPyramidSelect final : public SetPolicy {
 public:
  SeedPyramidSelect(std::int64_t budget, bool prefix, Aggregate aggregate)
      : budget_(budget), prefix_(prefix), reduce_(aggregate) {}

  void update(std::int32_t /*set*/, Residents& residents, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    const auto score = residents.column(kScore);
    assign_scaled(weights.value, weights.divisor, score);
    if (!prefix_) return;
    double sum = 0;
    for (double& each : score) {
      sum += each;
      each = sum > 0 ? each / sum : 0.0;
    }
  }

  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t excess = residents.size() - budget_;
    if (excess <= 0) return;
    const auto others = static_cast<std::size_t>(residents.size() - budget_ / 2);
    lowest(residents.column(kScore).first(others), static_cast<std::int32_t>(excess), drop);
  }

 private:
  std::int64_t budget_;
  bool prefix_;
  Reducer reduce_;
};

constexpr std::array kParams{
    tokens_param("budget", "Tokens kept, half of them for being newest", 1),
    Param{.name = "importance",
          .help = "Weight in the last row, or that weight by all weights up to the token (prefix)",
          .kind = ParamKind::kText,
          .fallback = "weight",
          .choices = kScores},
    kGroupParam, kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  const std::int64_t budget = choice.integer("budget");
  return {.prompt_rows = 1,
          .decode_rows = true,
          .columns = 1,
          .budget = budget,
          .count = core::KeptCount{budget}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<SeedPyramidSelect>(input.choice.integer("budget"),
                                             input.choice.text("importance") == "prefix",
                                             aggregate_of(input.choice));
}

}  // namespace

extern const PolicyKind kSeedPyramidSelect;
const PolicyKind kSeedPyramidSelect{
    .descriptor =
        {.family = kFamily,
         .name = "seed-pyramid-select",
         .summary = "Half of the budget is newest tokens, half those most important to the last query",
         .source = "kvplan's founding notes on KV caches, section 4.1 (selection of a pyramid's layer)",
         .params = kParams,
         .divergences =
             "The code of the notes loses the most important tokens by an index error and returns tokens out "
             "of "
             "order; this is what its text says. Of an odd budget the larger half is the important one."},
    .golden_name = "seed_pyramid_select",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention
