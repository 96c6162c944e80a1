// The k largest weights of every true row: no policy that attends k tokens can have more mass. Keeps the full
// cache, since the next row may want any token again, so its bytes are those of `full`.
#include <algorithm>
#include <memory>

#include "simulator/attention/policy.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention {
namespace {

class OracleTopK final : public TokenPolicy {
 public:
  explicit OracleTopK(std::int64_t k) : k_(k) {}
  void select(const Residents& residents, const Weights& weights,
              std::vector<std::int32_t>& attended) override {
    const auto k = static_cast<std::int32_t>(std::min<std::int64_t>(k_, residents.size()));
    highest(weights.value, k, attended);
  }
  void evict(const Residents& /*residents*/, std::vector<std::int32_t>& /*drop*/) override {}

 private:
  std::int64_t k_;
};

constexpr std::array kParams{tokens_param("k", "Tokens read by each query", 1), kGroupParam, kAggParam,
                             kPlacementParam};

PolicyTraits traits(const Choice& /*choice*/) {
  return {.rows = RowUse::kRaw, .selects = true, .interval = KeptInterval{.sink = 0, .recent = INT64_MAX}};
}
std::unique_ptr<TokenPolicy> make(const Choice& choice) {
  return std::make_unique<OracleTopK>(choice.integer("k"));
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
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention
