// The k largest weights of every true row: no policy that attends k tokens can have more mass. Keeps the full
// cache, since the next row may want any token again, so its bytes are those of `full`.
#include <algorithm>
#include <memory>

#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention {
namespace {

class OracleTopK final : public LayerPolicy {
 public:
  OracleTopK(std::int64_t k, Aggregate aggregate) : k_(k), reduce_(aggregate) {}
  void choose(const Residents& residents, std::span<const HeadRow> heads,
              std::vector<std::int32_t>& attended) override {
    const auto k = static_cast<std::int32_t>(std::min<std::int64_t>(k_, residents.size()));
    highest(reduce_(heads).value, k, attended);
  }
  void evict(std::span<ResidentSet> /*sets*/) override {}

 private:
  std::int64_t k_;
  Reducer reduce_;
};

constexpr std::array kParams{tokens_param("k", "Tokens read by each query", 1), kGroupParam, kAggParam,
                             kPlacementParam};

PolicyTraits traits(const Choice& /*choice*/) {
  return {.rows = RowUse::kRaw,
          .reads = Reads::kChosen,
          .interval = KeptInterval{.sink = 0, .recent = INT64_MAX}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<OracleTopK>(input.choice.integer("k"), aggregate_of(input.choice));
}

}  // namespace

extern const PolicyKind kOracleTopK;
const PolicyKind kOracleTopK{
    .descriptor =
        {.family = kFamily,
         .name = "oracle-topk",
         .summary =
             "Bound for kvplan evict: each query reads its k heaviest tokens of the whole sequence; it "
             "frees nothing, so a run refuses it",
         .source = "kvplan",
         .params = kParams},
    .golden_name = "oracle_topk",
    .budget = {.param = "k"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention
