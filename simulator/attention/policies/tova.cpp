// TOVA: one set per layer. At the end of the prompt and of every step it keeps the tokens with the most weight in the
// last row, averaged over all query heads; the newest token is not protected.
#include <memory>

#include "simulator/attention/kernels.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::tova {
namespace {

constexpr int kLastWeight = 0;

class Tova final : public SetPolicy {
 public:
  Tova(std::int64_t budget, Aggregate aggregate) : budget_(budget), reduce_(aggregate) {}
  void update(std::int32_t /*set*/, Residents& residents, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    assign_scaled(weights.value, weights.divisor, residents.column(kLastWeight));
  }
  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t excess = residents.size() - budget_;
    if (excess > 0) lowest(residents.column(kLastWeight), static_cast<std::int32_t>(excess), drop);
  }

 private:
  std::int64_t budget_;
  Reducer reduce_;
};

constexpr std::array kParams{tokens_param("budget", "Tokens that each layer keeps", 1), kGroupParam,
                             kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.scope = Scope::kLayer,
          .prompt_rows = 1,
          .decode_rows = true,
          .columns = 1,
          .budget = choice.integer("budget"),
          .count = core::KeptCount{choice.integer("budget")}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<Tova>(input.choice.integer("budget"), aggregate_of(input.choice));
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "tova",
         .summary = "Keeps the tokens with the largest weights in the newest query's row; one set per layer",
         .source = "arXiv 2401.06104; schwartz-lab-NLP/TOVA@9c7d09b src/tova_cache.py",
         .params = kParams},
    .golden_name = "tova",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::tova
