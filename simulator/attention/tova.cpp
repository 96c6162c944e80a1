// TOVA: one set per layer. At the end of the prompt and of every step the tokens with the most weight in the
// last row, averaged over all query heads, stay; the newest token is not protected.
#include <memory>

#include "simulator/attention/kernels.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention {
namespace {

constexpr int kLastWeight = 0;

class Tova final : public TokenPolicy {
 public:
  explicit Tova(std::int64_t budget) : budget_(budget) {}
  void update(Residents& residents, const Weights& weights) override {
    assign_scaled(weights.value, weights.divisor, residents.column(kLastWeight));
  }
  void evict(const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t excess = residents.size() - budget_;
    if (excess > 0) lowest(residents.column(kLastWeight), static_cast<std::int32_t>(excess), drop);
  }

 private:
  std::int64_t budget_;
};

constexpr std::array kParams{tokens_param("budget", "Tokens kept by each layer", 1), kGroupParam, kAggParam,
                             kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.scope = Scope::kLayer,
          .rows = RowUse::kRenorm,
          .prompt = PromptRows::kLast,
          .columns = 1,
          .budget = choice.integer("budget")};
}
std::unique_ptr<TokenPolicy> make(const Choice& choice) {
  return std::make_unique<Tova>(choice.integer("budget"));
}

}  // namespace

extern const PolicyKind kTova;
const PolicyKind kTova{
    .descriptor = {.family = kFamily,
                   .name = "tova",
                   .summary = "Keeps the tokens that the newest query attends most; one set per layer",
                   .source = "arXiv 2401.06104; schwartz-lab-NLP/TOVA@9c7d09b src/tova_cache.py",
                   .params = kParams},
    .golden_name = "tova",
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention
