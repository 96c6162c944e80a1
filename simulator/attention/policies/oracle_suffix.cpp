// Drops the token to which the rest of the sequence will attend least: a simple rule with knowledge of the future.
// Good, but not optimal; see oracle-exact.
#include <algorithm>
#include <memory>
#include <vector>

#include "simulator/attention/oracle_weights.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::oracle_suffix {
namespace {

__extension__ using Wide = __int128;

/// Weights as whole multiples of 2^-100, so that the remaining weight is an exact difference. A mean over heads is
/// stored as their sum: dividing all by one number would not change the order, but could break ties.
Wide fixed(double weight) {
  return static_cast<Wide>(weight * 0x1p100);
}
double rounded(Wide sum) {
  return static_cast<double>(sum) * 0x1p-100;
}

class OracleSuffix final : public SetPolicy {
 public:
  explicit OracleSuffix(const LayerInput& input)
      : budget_(input.choice.integer("budget")),
        reduce_(aggregate_of(input.choice)),
        lengths_(input),
        to_come_(static_cast<std::size_t>(input.place.kv_heads())) {}

  void tensors(const LayerRows& rows) override { lengths_.tensors(rows); }
  void foresee(std::int32_t set, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    auto& to_come = to_come_[static_cast<std::size_t>(set)];
    to_come.resize(weights.value.size());
    lengths_.reach(set, to_come.size());
    for (std::size_t i = 0; i < to_come.size(); ++i) to_come[i] += fixed(weights.value[i]);
  }

  void update(std::int32_t set, Residents& residents, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    auto& to_come = to_come_[static_cast<std::size_t>(set)];
    for (std::size_t i = 0; i < weights.value.size(); ++i)
      to_come[static_cast<std::size_t>(residents.positions()[i])] -= fixed(weights.value[i]);
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t excess = residents.size() - budget_;
    if (excess <= 0) return;
    auto& to_come = to_come_[static_cast<std::size_t>(set)];
    to_come.resize(std::max(to_come.size(), static_cast<std::size_t>(residents.positions().back()) + 1));
    score_.clear();
    for (const std::int32_t p : residents.positions())
      score_.push_back(rounded(to_come[static_cast<std::size_t>(p)]) * lengths_.of(set, p));
    lowest(score_, static_cast<std::int32_t>(excess), drop);
  }

 private:
  std::int64_t budget_;
  Reducer reduce_;
  ValueLengths lengths_;
  std::vector<std::vector<Wide>> to_come_;  ///< [KV head][position]
  std::vector<double> score_;
};

constexpr std::array kParams{tokens_param("budget", "Tokens kept", 1), kOracleWeightsParam, kGroupParam,
                             kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.rows = RowUse::kRaw,
          .decode_rows = true,
          .value_norms = weighs_output(choice),
          .foresight = true,
          .budget = choice.integer("budget"),
          .count = core::KeptCount{choice.integer("budget")}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<OracleSuffix>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "oracle-suffix",
                   .summary = "Uses future knowledge: evicts the token with the least attention from all "
                              "later queries together",
                   .source = "kvplan; greedy, similar to Belady (IBM Systems Journal 5(2), 1966)",
                   .params = kParams,
                   .divergences =
                       "The rule is greedy, so even a policy without future knowledge may keep more mass."},
    .golden_name = "oracle_suffix",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::oracle_suffix
