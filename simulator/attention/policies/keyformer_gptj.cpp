// Keyformer as its public GPT-J code works: it hides one column more than the paper, and a hidden token stays hidden.
// So the set of keys is frozen when the prompt ends, and only the newest generated tokens are added.
#include <algorithm>
#include <memory>

#include "simulator/attention/keyformer_parts.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::keyformer_gptj {
namespace {

class KeyformerGptj final : public SetPolicy {
 public:
  explicit KeyformerGptj(const LayerInput& input) : scores_(input.choice, input.place) {}
  void update(std::int32_t /*set*/, Residents& residents, std::span<const HeadRow> heads) override {
    scores_.update(residents, heads);
  }

  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const auto positions = residents.positions();
    const std::int64_t seen = positions.back() + 1;
    if (seen <= scores_.keys() + scores_.recent()) return;
    // Hidden tokens compete too, with a score of zero: among zeros the newer one wins, so no token returns.
    const std::int64_t old = seen - scores_.recent();
    all_.assign(static_cast<std::size_t>(old), 0.0);
    for (std::size_t i = 0; i < positions.size() && positions[i] < old; ++i)
      all_[static_cast<std::size_t>(positions[i])] = residents.column(0)[i];
    best_.clear();
    highest(all_, static_cast<std::int32_t>(scores_.keys()), best_);
    for (std::size_t i = 0; i < positions.size(); ++i)
      if (positions[i] <= old && !std::binary_search(best_.begin(), best_.end(), positions[i]))
        drop.push_back(static_cast<std::int32_t>(i));
  }

 private:
  KeyformerScores scores_;
  std::vector<double> all_;
  std::vector<std::int32_t> best_;
};

PolicyTraits traits(const Choice& /*choice*/) {
  return {.prompt_rows = kAllRows, .decode_rows = true, .columns = 1, .state_bytes_per_cell = 4};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<KeyformerGptj>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "keyformer-gptj",
         .summary =
             "Keyformer as in its public GPT-J code: the set of key tokens is fixed at the end of the prompt",
         .source = "d-matrix-ai/keyformer-llm@f327831 models/gptj-keyformer-lib",
         .params = kKeyformerParams,
         .divergences = "The mask is one column wider than in the paper, and is combined with all earlier "
                        "masks. A token that leaves the recent ones is therefore gone before it can become a "
                        "key token. The public MPT code evicts only at every eighth generated token. kvplan "
                        "leaves out the Gumbel noise."},
    .golden_name = "keyformer_gptj",
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::keyformer_gptj
