// The bound for all eviction policies: the retained sets (each a subset of the one before and the new token) that
// keep the most attention over the whole sequence.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "simulator/attention/nested_residency.h"
#include "simulator/attention/oracle_weights.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::oracle_exact {
namespace {

constexpr std::int64_t kMostForeseen =
    1 << 22;  // 32 MiB for each KV head, and several times this while solving

class OracleExact final : public SetPolicy {
 public:
  explicit OracleExact(const LayerInput& input)
      : prompt_(input.place.prompt),
        budget_(input.choice.integer("budget")),
        reduce_(aggregate_of(input.choice)),
        lengths_(input),
        stop_asked_(input.stop_asked),
        to_come_(static_cast<std::size_t>(input.place.kv_heads())),
        until_(to_come_.size()) {}

  void tensors(const LayerRows& rows) override { lengths_.tensors(rows); }
  void foresee(std::int32_t set, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    lengths_.reach(set, weights.value.size());
    std::vector<double> row(weights.value.size());
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = weights.value[i] / weights.divisor * lengths_.of(set, static_cast<std::int32_t>(i));
    to_come_[static_cast<std::size_t>(set)].push_back(std::move(row));
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t excess = residents.size() - budget_;
    if (excess <= 0) return;
    auto& until = until_[static_cast<std::size_t>(set)];
    if (until.empty()) {
      until = needed_until(in_whole_numbers(to_come_[static_cast<std::size_t>(set)]), prompt_, budget_,
                           stop_asked_);
    }
    // What is no longer needed comes first here, and there is enough of it.
    score_.clear();
    for (const std::int32_t p : residents.positions())
      score_.push_back(static_cast<double>(until[static_cast<std::size_t>(p)]));
    lowest(score_, static_cast<std::int32_t>(excess), drop);
  }

 private:
  /// Of rows, which are given up, in units of which the greatest weight that there can be has 2^44.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> in_whole_numbers(
      std::vector<std::vector<double>>& rows) const {
    double greatest = 1;
    if (lengths_.wanted()) {
      greatest = 0;
      for (const auto& row : rows)
        for (const double weight : row) greatest = std::max(greatest, weight);
    }
    std::vector<std::vector<std::int64_t>> out;
    out.reserve(rows.size());
    for (auto& row : rows) {
      out.emplace_back();
      out.back().reserve(row.size());
      for (const double weight : row)
        out.back().push_back(greatest > 0 ? std::llround(weight / greatest * 0x1p44) : 0);
      row = {};
    }
    rows = {};
    return out;
  }

  std::int64_t prompt_;
  std::int64_t budget_;
  Reducer reduce_;
  ValueLengths lengths_;
  StopAsked stop_asked_;
  std::vector<std::vector<std::vector<double>>> to_come_;  ///< [KV head][decode step][position]
  std::vector<std::vector<std::int64_t>> until_;           ///< [KV head][position]
  std::vector<double> score_;
};

constexpr std::array kParams{tokens_param("budget", "Tokens kept", 1), kOracleWeightsParam, kGroupParam,
                             kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.rows = RowUse::kRaw,
          .value_norms = weighs_output(choice),
          .foresight = true,
          .max_foreseen = kMostForeseen,
          .budget = choice.integer("budget"),
          .count = core::KeptCount{choice.integer("budget")}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<OracleExact>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "oracle-exact",
         .summary = "Upper bound: no policy that evicts down to this budget can keep more total attention",
         .source = "kvplan (interval linear program, solved as a flow)",
         .params = kParams,
         .divergences =
             "The bound does not hold for a policy that reads tokens again after skipping them; see "
             "oracle-topk. With groups, it bounds the rows reduced over a group, not each query head."},
    .golden_name = "oracle_exact",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::oracle_exact
