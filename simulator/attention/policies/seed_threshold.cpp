// Drops every token with an importance below a threshold. How many are kept depends on the data.
#include <memory>

#include "simulator/attention/importance.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"

namespace kvplan::attention::seed_threshold {
namespace {

class SeedThreshold final : public SetPolicy {
 public:
  explicit SeedThreshold(const Choice& choice)
      : threshold_(choice.decimal("threshold")),
        recent_(choice.integer("recent")),
        sink_(choice.integer("sink")),
        importance_(choice),
        reduce_(aggregate_of(choice)) {}

  void update(std::int32_t /*set*/, Residents& residents, std::span<const HeadRow> heads) override {
    importance_.update(residents, reduce_(heads));
  }
  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const Candidates may = unprotected(residents, sink_, recent_);
    const auto importance = importance_.of(residents, may.begin, may.end);
    for (std::int32_t i = may.begin; i < may.end; ++i)
      if (importance[static_cast<std::size_t>(i - may.begin)] < threshold_) drop.push_back(i);
  }

 private:
  double threshold_;
  std::int64_t recent_;
  std::int64_t sink_;
  Importance importance_;
  Reducer reduce_;
};

constexpr std::array kParams{kImportanceParam,
                             Param{.name = "threshold",
                                   .help = "Tokens with less importance than this are evicted",
                                   .kind = ParamKind::kDecimal,
                                   .fallback = "0.01",
                                   .low = 0,
                                   .high = 1},
                             kProtectedRecentParam,
                             kProtectedSinkParam,
                             kGammaParam,
                             kScoreRowsParam,
                             kGroupParam,
                             kAggParam,
                             kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  const Importance importance(choice);
  return {.rows = score_rows_of(choice),
          .prompt_rows = kAllRows,
          .decode_rows = true,
          .columns = importance.columns(),
          .state_bytes_per_cell = importance.state_bytes()};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<SeedThreshold>(input.choice);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "seed-threshold",
                   .summary = "Evicts tokens when their maximum or mean attention falls below a threshold",
                   .source = "kvplan's design notes on KV caches, section 4 (importance and threshold)",
                   .params = kParams,
                   .divergences =
                       "The design notes call this policy StreamingLLM, which it is not, and protect no "
                       "token; kvplan protects the newest, because the cache could otherwise become empty. "
                       "Their code indexes scores along the wrong axis; in kvplan a token's importance comes "
                       "from the attention that the token received."},
    .golden_name = "seed_threshold",
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::seed_threshold
