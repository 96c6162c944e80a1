// The bound of all eviction policies: the retained sets, each inside the one before and the new token, that keep
// the most attention over the whole sequence.
#include <cmath>
#include <memory>
#include <vector>

#include "simulator/attention/nested_residency.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention {
namespace {

constexpr std::int64_t kMostForeseen =
    1 << 22;  // 32 MiB for each stored head, and several times this while solving

class OracleExact final : public SetPolicy {
 public:
  OracleExact(const LayerPlace& place, std::int64_t budget, Aggregate aggregate)
      : prompt_(place.prompt), budget_(budget), reduce_(aggregate) {
    to_come_.resize(static_cast<std::size_t>(place.stored_heads()));
    until_.resize(to_come_.size());
  }

  void foresee(std::int32_t set, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    std::vector<std::int64_t> row;
    row.reserve(weights.value.size());
    for (const double value : weights.value) row.push_back(std::llround(value / weights.divisor * 0x1p44));
    to_come_[static_cast<std::size_t>(set)].push_back(std::move(row));
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t excess = residents.size() - budget_;
    if (excess <= 0) return;
    auto& until = until_[static_cast<std::size_t>(set)];
    if (until.empty()) {
      auto& rows = to_come_[static_cast<std::size_t>(set)];
      until = needed_until(rows, prompt_, budget_);
      rows = {};
    }
    // What is no longer needed comes first here, and there is enough of it.
    score_.clear();
    for (const std::int32_t p : residents.positions())
      score_.push_back(static_cast<double>(until[static_cast<std::size_t>(p)]));
    lowest(score_, static_cast<std::int32_t>(excess), drop);
  }

 private:
  std::int64_t prompt_;
  std::int64_t budget_;
  Reducer reduce_;
  std::vector<std::vector<std::vector<std::int64_t>>> to_come_;  ///< [stored head][decode step][position]
  std::vector<std::vector<std::int64_t>> until_;                 ///< [stored head][position]
  std::vector<double> score_;
};

constexpr std::array kParams{tokens_param("budget", "Tokens kept", 1), kGroupParam, kAggParam,
                             kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.rows = RowUse::kRaw,
          .foresight = true,
          .max_foreseen = kMostForeseen,
          .budget = choice.integer("budget"),
          .count = core::KeptCount{choice.integer("budget")}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<OracleExact>(input.place, input.choice.integer("budget"),
                                       aggregate_of(input.choice));
}

}  // namespace

extern const PolicyKind kOracleExact;
const PolicyKind kOracleExact{
    .descriptor = {.family = kFamily,
                   .name = "oracle-exact",
                   .summary = "Bound: no policy that evicts to this budget can keep more attention in total",
                   .source = "kvplan (interval linear program, solved as a flow)",
                   .params = kParams,
                   .divergences =
                       "A policy that reads again what it left out is not bound by it; see oracle-topk. "
                       "With groups it bounds the reduced rows, not each query head."},
    .golden_name = "oracle_exact",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention
