// Sliding window: keep the last W tokens.
#include <memory>

#include "simulator/attention/interval_policy.h"
#include "simulator/attention/policy.h"

namespace kvplan::attention::window {
namespace {

constexpr std::array kParams{tokens_param("window", "Newest tokens kept", 1), kGroupParam, kAggParam,
                             kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  const std::int64_t window = choice.integer("window");
  return {.interval = KeptInterval{.sink = 0, .recent = window}, .count = core::KeptCount{window}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<IntervalPolicy>(*traits(input.choice).interval);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{.descriptor = {.family = kFamily,
                                        .name = "window",
                                        .summary = "Sliding window: keeps only the newest tokens",
                                        .source = "arXiv 2004.05150 (sliding window attention)",
                                        .params = kParams},
                         .golden_name = "window",
                         .budget = {.param = "window"},
                         .traits = traits,
                         .make = make};

}  // namespace kvplan::attention::window
