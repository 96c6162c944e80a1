// Drops a share of the least important tokens whenever more than a budget are kept: the number goes up and down.
#include <algorithm>
#include <memory>

#include "simulator/attention/importance.h"
#include "simulator/attention/kept_counts.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::seed_proportional {
namespace {

/// Number of kept tokens of `all` after as many rounds as needed. Protected tokens are always kept.
std::int64_t kept_of(std::int64_t all, std::int64_t budget, double fraction, std::int64_t guarded) {
  std::int64_t kept = all;
  while (kept > budget)
    kept -= std::max<std::int64_t>(1, static_cast<std::int64_t>(fraction * static_cast<double>(kept)));
  return std::max(kept, std::min(all, guarded));
}

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
    const std::int64_t goes = all - kept_of(all, budget_, fraction_, all - (may.end - may.begin));
    lowest(importance_.of(residents, may.begin, may.end), static_cast<std::int32_t>(goes), drop);
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

constexpr std::array kParams{
    kImportanceParam,
    tokens_param("budget", "Number of kept tokens above which a share is evicted", 1),
    Param{.name = "fraction",
          .help = "Share of the kept tokens that is evicted at a time, at least one token",
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

core::KeptCount count_at(const Choice& choice, std::int64_t prompt, std::int64_t tokens) {
  const std::int64_t budget = choice.integer("budget");
  const double fraction = choice.decimal("fraction");
  const std::int64_t guarded = guarded_of(choice);
  return count_in_rounds(prompt, tokens, std::max(budget, guarded),
                         [&](std::int64_t n) { return kept_of(n, budget, fraction, guarded); });
}
PolicyTraits traits(const Choice& choice) {
  const Importance importance(choice);
  const bool some_stay = choice.decimal("fraction") < 1 || guarded_of(choice) > 0;
  return {.rows = score_rows_of(choice),
          .prompt_rows = kAllRows,
          .decode_rows = true,
          .columns = importance.columns(),
          .state_bytes_per_cell = importance.state_bytes(),
          .count_at = some_stay ? count_at : nullptr};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<SeedProportional>(input.choice);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "seed-proportional",
                   .summary =
                       "Evicts a share of the least important tokens whenever more than a budget are kept",
                   .source = "kvplan's design notes on KV caches, section 4 (importance and share)",
                   .params = kParams,
                   .divergences = "The design notes protect no token; kvplan protects the newest."},
    .golden_name = "seed_proportional",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::seed_proportional
