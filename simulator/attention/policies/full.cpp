#include <memory>

#include "simulator/attention/policy.h"

namespace kvplan::attention::full {
namespace {

class Full final : public LayerPolicy {
 public:
  void evict(std::span<ResidentSet> /*sets*/) override {}
};

constexpr std::array kParams{kGroupParam, kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& /*choice*/) {
  return {.interval = KeptInterval{.sink = 0, .recent = INT64_MAX}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& /*input*/) {
  return std::make_unique<Full>();
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{.descriptor = {.family = kFamily,
                                        .name = "full",
                                        .summary = "Keeps every token: the full cache, which is the baseline",
                                        .source = "kvplan",
                                        .params = kParams},
                         .golden_name = "full",
                         .traits = traits,
                         .make = make};

}  // namespace kvplan::attention::full
