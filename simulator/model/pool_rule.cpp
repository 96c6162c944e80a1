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

Figure assumed_activations(const ModelShape& shape, std::int64_t tensor_ranks, std::int64_t step_tokens,
                           std::int64_t step_requests) {
  const WeightShape& w = shape.weight_shape;
  // Per layer: four vectors of the hidden size, and three of the feed-forward width that a token uses.
  const Wide experts = Wide{w.experts_per_token} * w.expert_feed_forward + w.shared_feed_forward;
  const Wide width = std::max(Wide{w.feed_forward}, experts);
  const Wide layer =
      2 * Wide{step_tokens} * (4 * Wide{shape.hidden} + 3 * ((width + tensor_ranks - 1) / tensor_ranks));
  // Sampling: logits in four bytes, their sorted copy, indices, sums and probabilities.
  const Wide sampling = Wide{10} * 4 * step_requests * w.vocabulary;
  return {static_cast<std::int64_t>(std::min(std::max(layer, sampling), kMostBytes - 1)), Mark::kAssumed,
          "the larger of one layer's activations for " + std::to_string(step_tokens) +
              " tokens and sampling for " + std::to_string(step_requests) + " requests"};
}

Figure assumed_context() {
  return {512 * kMiB, Mark::kAssumed, "an L40S before loading: 0.49 GiB"};
}

Figure assumed_workspace() {
  return {128 * kMiB, Mark::kAssumed, "vLLM logs: 0.01 to 0.25 GiB"};
}

Figure assumed_graphs() {
  return {512 * kMiB, Mark::kAssumed, "vLLM and SGLang logs: 0.1 to 1 GiB"};
}

}  // namespace kvplan::model
