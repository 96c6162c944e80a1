// SnapKV: once, when the prompt ends, its last `window` queries vote for the tokens before them. Votes are pooled over
// neighbours, and the best tokens are kept, with the window. Generated tokens are only appended.
#include <memory>

#include "simulator/attention/policy.h"
#include "simulator/attention/prompt_scores.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::snapkv {
namespace {

class SnapKv final : public SetPolicy {
 public:
  SnapKv(const LayerPlace& place, const PromptWindow& window, Aggregate aggregate)
      : prompt_(place.prompt), window_(window), aggregate_(aggregate), scores_(place) {}

  void update(std::int32_t set, Residents& /*residents*/, std::span<const HeadRow> heads) override {
    if (prompt_ >= window_.capacity) scores_.add(set, heads);
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    if (prompt_ < window_.capacity || !scores_.prompt_ends(residents)) return;
    const auto votes = scores_.of_set(set, prompt_ - window_.window, aggregate_);
    lowest(pool(votes, window_.kernel, window_.pooling),
           static_cast<std::int32_t>(prompt_ - window_.capacity), drop);
    scores_.forget(set);
  }

 private:
  std::int64_t prompt_;
  PromptWindow window_;
  Aggregate aggregate_;
  PromptScores scores_;
};

constexpr std::array kParams{kWindowParam, kCapacityParam, kKernelParam,   kPoolingParam,
                             kGroupParam,  kAggParam,      kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.prompt_rows = choice.integer(kWindowParam.name),
          .count = core::KeptCount{.budget = choice.integer(kCapacityParam.name), .once = true}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<SnapKv>(input.place, prompt_window_of(input.choice), aggregate_of(input.choice));
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "snapkv",
         .summary = "When the prompt ends, keeps its last tokens (window) and the tokens that the window "
                    "attends to most",
         .source = "arXiv 2404.14469; FasterDecoding/SnapKV@e216ddc snapkv/monkeypatch/snapkv_utils.py",
         .params = kParams,
         .divergences =
             "The public code stores one cache per query head (group=1). kvpress pools scores before it "
             "reduces the group, and keeps int(P * (1 - ratio)) tokens. Max pooling produces exact ties, "
             "which published runs leave to their library; kvplan keeps the newer token."},
    .golden_name = "snapkv",
    .budget = {.param = "capacity", .of_prompt = true},
    .check = check_prompt_window,
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::snapkv
