#include "simulator/model/pool_rule.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "simulator/base/units.h"

namespace kvplan::model {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr Wide kMostBytes = Wide{1} << 60;

}  // namespace

PoolRuleChoice PoolRuleChoice::with_share(std::string_view share) const {
  std::vector<Choice::Value> values = choice.values();
  const std::span<const Param> params = choice.descriptor().params;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (params[i].name == rule->share) values[i] = {std::string(share), true};
  return {rule, Choice(&choice.descriptor(), std::move(values))};
}

Estimate assumed_activations(const RankFacts& f) {
  const WeightShape& w = f.model->weight_shape;
  // Per layer: four vectors of the hidden size, and three of the feed-forward width that a token uses.
  const Wide experts = Wide{w.experts_per_token} * w.expert_feed_forward + w.shared_feed_forward;
  const Wide width = std::max(Wide{w.feed_forward}, experts);
  const Wide layer = 2 * Wide{f.step_tokens} *
                     (4 * Wide{f.model->hidden} + 3 * ((width + f.tensor_ranks - 1) / f.tensor_ranks));
  // Sampling: logits in four bytes, their sorted copy, indices, sums and probabilities.
  const Wide sampling = f.has_output ? Wide{10} * 4 * f.step_requests * w.vocabulary : Wide{0};
  const auto value = static_cast<std::int64_t>(std::min(std::max(layer, sampling), kMostBytes - 1));
  return {{value, Mark::kAssumed,
           "the larger of one layer's activations for " + std::to_string(f.step_tokens) +
               " tokens and sampling for " + std::to_string(f.step_requests) + " requests"},
          value / 2,
          value + value / 4};
}

RankTerms assumed_terms(const RankFacts& facts) {
  const auto of = [](std::int64_t mib, std::int64_t low, std::int64_t high, const char* source) {
    return Estimate{{mib * kMiB, Mark::kAssumed, source}, low * kMiB, high * kMiB};
  };
  return {.context = of(512, 410, 700, "an L40S before loading: 0.49 GiB"),
          .activations = assumed_activations(facts),
          .workspace = of(128, 10, 260, "vLLM logs: 0.01 to 0.25 GiB"),
          .graphs = of(512, 100, 1024, "vLLM and SGLang logs: 0.1 to 1 GiB")};
}

}  // namespace kvplan::model
