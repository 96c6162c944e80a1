// StreamingLLM: keeps the first `sink` tokens, which collect attention whatever their content, and the last `recent`.
// Positions are those of the recording ("position-frozen"): the original code rotates cached keys by their index in the
// cache, which a recording with absolute positions cannot reproduce.
#include <memory>

#include "simulator/attention/interval_policy.h"
#include "simulator/attention/policy.h"

namespace kvplan::attention::streaming_llm {
namespace {

constexpr std::array kParams{tokens_param("sink", "First tokens of the sequence, never evicted", 0),
                             tokens_param("recent", "Newest tokens kept", 0), kGroupParam, kAggParam,
                             kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  const KeptInterval keep{.sink = choice.integer("sink"), .recent = choice.integer("recent")};
  return {.moves_positions = true, .interval = keep, .count = core::KeptCount{keep.sink + keep.recent}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<IntervalPolicy>(*traits(input.choice).interval);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "streaming-llm",
         .summary = "Keeps the first tokens (attention sinks) and the newest ones",
         .source = "arXiv 2309.17453; mit-han-lab/streaming-llm@2e50426 streaming_llm/kv_cache.py",
         .params = kParams,
         .divergences =
             "The public code caches keys before the rotary embedding and rotates them at every step by "
             "their position in the cache. kvplan, like kvpress, KVCache-Factory and R-KV, keeps the "
             "recorded positions, and results say so. kvpress evicts once, right after the sinks. "
             "KVCache-Factory uses as sinks all of its capacity that the window leaves."},
    .golden_name = "streaming",
    .budget = {.param = "recent", .beside = "sink", .usual_beside = 4},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::streaming_llm
