// KeyDiff: keeps the keys that differ from the mean direction of all keys.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "simulator/attention/tensor_score.h"

namespace kvplan::attention::keydiff {
namespace {

// Shorter vectors count as this long, so that nothing is divided by zero; as in the original's library.
constexpr double kLeastNorm = 1e-12;
constexpr double kLeastOfCosine = 1e-8;

class KeyDiff final : public TensorScore {
 public:
  using TensorScore::TensorScore;

 private:
  void score(KeyView keys, ValueView /*values*/, std::span<const std::int32_t> positions,
             std::span<double> out) override {
    std::vector<double> norm;
    for (const std::int32_t p : positions) {
      double sum = 0;
      for (std::int32_t c = 0; c < keys.size; ++c) sum += keys.at(p, c) * keys.at(p, c);
      norm.push_back(std::sqrt(sum));
    }
    std::vector<double> mean(static_cast<std::size_t>(keys.size));
    for (std::size_t i = 0; i < positions.size(); ++i)
      for (std::int32_t c = 0; c < keys.size; ++c)
        mean[static_cast<std::size_t>(c)] += keys.at(positions[i], c) / std::max(norm[i], kLeastNorm);
    double length = 0;
    for (double& each : mean) {
      each /= static_cast<double>(positions.size());
      length += each * each;
    }
    length = std::max(std::sqrt(length), kLeastOfCosine);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      double product = 0;
      for (std::int32_t c = 0; c < keys.size; ++c)
        product += keys.at(positions[i], c) * mean[static_cast<std::size_t>(c)];
      out[i] = -product / (std::max(norm[i], kLeastOfCosine) * length);
    }
  }
};

constexpr std::array kParams{kTensorBudgetParam, kEveryParam, kGroupParam, kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return tensor_traits(choice, false);
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<KeyDiff>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "keydiff",
                   .summary = "Keeps the keys that are least similar to the mean key; needs recorded keys",
                   .source = "arXiv 2504.15364; NVIDIA/kvpress@8bb29b9 kvpress/presses/keydiff_press.py",
                   .params = kParams,
                   .divergences = "The paper selects per block of 128 tokens. kvpress selects once at the "
                                  "end of the prompt (every=0)."},
    .golden_name = "keydiff",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::keydiff
