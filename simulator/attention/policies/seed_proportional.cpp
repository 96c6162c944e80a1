// Drops a share of the least important tokens whenever more than a budget are kept: sizes go up and down like a saw.
#include <algorithm>
#include <memory>

#include "simulator/attention/importance.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention {
namespace {

class SeedProportional final : public SetPolicy {
 public:
  explicit SeedProportional(const Choice& choice)
      : budget_(choice.integer("budget")),
        fraction_(choice.decimal("fraction")),
        recent_(choice.integer("recent")),
        sink_(choice.integer("sink")),
        importance_(choice),
        reduce_(aggregate_of(choice)) {}

  void update(std::int32_t /*set*/, Residents& residents, std::span<const HeadRow> heads) override {
    importance_.update(residents, reduce_(heads));
  }
  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const Candidates may = unprotected(residents, sink_, recent_);
    // Rounds do not change importance, so all of them together drop the least important ones.
    const std::int64_t all = residents.size();
    std::int64_t kept = all;
    while (kept > budget_)
      kept -= std::max<std::int64_t>(1, static_cast<std::int64_t>(fraction_ * static_cast<double>(kept)));
    const auto goes = static_cast<std::int32_t>(std::min<std::int64_t>(all - kept, may.end - may.begin));
    lowest(importance_.of(residents, may.begin, may.end), goes, drop);
    for (std::int32_t& index : drop) index += may.begin;
  }

 private:
  std::int64_t budget_;
  double fraction_;
  std::int64_t recent_;
  std::int64_t sink_;
  Importance importance_;
  Reducer reduce_;
};

constexpr std::array kParams{kImportanceParam,
                             tokens_param("budget", "Tokens from which on a share of them goes", 1),
                             Param{.name = "fraction",
                                   .help = "Share of what is kept that goes at a time, at least one token",
                                   .kind = ParamKind::kDecimal,
                                   .unit = Unit::kRatio,
                                   .fallback = "0.1",
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
  return std::make_unique<SeedProportional>(input.choice);
}

}  // namespace

extern const PolicyKind kSeedProportional;
const PolicyKind kSeedProportional{
    .descriptor = {.family = kFamily,
                   .name = "seed-proportional",
                   .summary =
                       "Drops a share of the least important tokens whenever more than a budget are kept",
                   .source = "kvplan's founding notes on KV caches, section 4 (importance and share)",
                   .params = kParams,
                   .divergences = "The notes protect no token; here the newest is protected."},
    .golden_name = "seed_proportional",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention
