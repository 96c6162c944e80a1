// The k largest weights of every true row: no policy that attends k tokens can have more mass. It keeps the full
// cache, since the next row may need any token again, so its bytes are those of `full`.
#include <algorithm>
#include <memory>
#include <vector>

#include "simulator/attention/oracle_weights.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::oracle_topk {
namespace {

class OracleTopK final : public SetPolicy {
 public:
  explicit OracleTopK(const LayerInput& input)
      : k_(input.choice.integer("k")), reduce_(aggregate_of(input.choice)), lengths_(input) {}
  void tensors(const LayerRows& rows) override { lengths_.tensors(rows); }
  void choose(std::int32_t set, const Residents& residents, std::span<const HeadRow> heads,
              std::vector<std::int32_t>& attended) override {
    const auto k = static_cast<std::int32_t>(std::min<std::int64_t>(k_, residents.size()));
    const std::span<const double> weight = reduce_(heads).value;
    if (!lengths_.wanted()) return highest(weight, k, attended);
    lengths_.reach(set, weight.size());
    score_.assign(weight.begin(), weight.end());
    for (std::size_t i = 0; i < score_.size(); ++i) score_[i] *= lengths_.of(set, residents.positions()[i]);
    highest(score_, k, attended);
  }
  void evict_set(std::int32_t /*set*/, const Residents& /*residents*/,
                 std::vector<std::int32_t>& /*drop*/) override {}

 private:
  std::int64_t k_;
  Reducer reduce_;
  ValueLengths lengths_;
  std::vector<double> score_;
};

constexpr std::array kParams{tokens_param("k", "Tokens that each query reads", 1), kOracleWeightsParam,
                             kGroupParam, kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.rows = RowUse::kRaw,
          .reads = Reads::kChosen,
          .value_norms = weighs_output(choice),
          .interval = KeptInterval{.sink = 0, .recent = INT64_MAX}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<OracleTopK>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "oracle-topk",
                   .summary = "Upper bound for `kvplan evict`: each query reads its k tokens with the "
                              "largest weights from the whole sequence; it frees nothing, so runs refuse it",
                   .source = "kvplan",
                   .params = kParams},
    .golden_name = "oracle_topk",
    .budget = {.param = "k"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::oracle_topk
