// Key norm: short keys stay, since those attract attention.
#include <array>
#include <memory>

#include "simulator/attention/tensor_score.h"

namespace kvplan::attention::knorm {
namespace {

class KeyNorm final : public TensorScore {
 public:
  using TensorScore::TensorScore;

 private:
  /// Squares have the order of norms, and fewer ties by rounding.
  void score(KeyView keys, ValueView /*values*/, std::span<const std::int32_t> positions,
             std::span<double> out) override {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      double sum = 0;
      for (std::int32_t c = 0; c < keys.size; ++c) sum += keys.at(positions[i], c) * keys.at(positions[i], c);
      out[i] = -sum;
    }
  }
};

constexpr std::array kParams{kTensorBudgetParam, kEveryParam, kGroupParam, kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return tensor_traits(choice, false);
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<KeyNorm>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "knorm",
                   .summary = "Keeps the tokens with the smallest key norm; needs recorded keys",
                   .source = "arXiv 2406.11430; NVIDIA/kvpress@8bb29b9 kvpress/presses/knorm_press.py",
                   .params = kParams,
                   .divergences = "kvpress selects only at the end of the prompt (every=0). KVCache-Factory "
                                  "does not evict in layers 0 and 1. Recent tokens are not protected."},
    .golden_name = "knorm",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::knorm
