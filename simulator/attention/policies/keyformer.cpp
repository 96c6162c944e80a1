// Keyformer as the paper defines it: H2O with scores that accumulate over rows at a rising temperature, and with
// budgets from the prompt's length.
#include <memory>

#include "simulator/attention/keyformer_parts.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::keyformer {
namespace {

class Keyformer final : public SetPolicy {
 public:
  explicit Keyformer(const LayerInput& input) : scores_(input.choice, input.place) {}
  void update(std::int32_t /*set*/, Residents& residents, std::span<const HeadRow> heads) override {
    scores_.update(residents, heads);
  }
  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t excess = residents.size() - scores_.keys() - scores_.recent();
    if (excess <= 0) return;
    const auto candidates = static_cast<std::size_t>(residents.size() - scores_.recent());
    lowest(residents.column(0).first(candidates), static_cast<std::int32_t>(excess), drop);
  }

 private:
  KeyformerScores scores_;
};

core::KeptCount count_at(const Choice& choice, std::int64_t prompt, std::int64_t /*tokens*/) {
  return {.budget = keyformer_kept(choice, prompt)};
}
PolicyTraits traits(const Choice& /*choice*/) {
  return {.prompt_rows = kAllRows,
          .decode_rows = true,
          .columns = 1,
          .state_bytes_per_cell = 4,
          .count_at = count_at};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<Keyformer>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "keyformer",
         .summary =
             "Keeps the newest tokens and the tokens with the most attention at a rising softmax temperature",
         .source = "arXiv 2403.09054 (the definition of the paper)",
         .params = kKeyformerParams,
         .divergences =
             "The paper adds Gumbel noise to logits; kvplan leaves it out so that runs repeat. The public "
             "GPT-J code is a different policy: keyformer-gptj. The public MPT code evicts only at every "
             "eighth generated token, and holds up to seven more tokens in between."},
    .golden_name = "keyformer_paper",
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::keyformer
