#include "simulator/attention/access_policy.h"

#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention {
namespace {

constexpr int kRank = 0;  ///< number of uses, or the token of the latest use

class AccessPolicy final : public SetPolicy {
 public:
  explicit AccessPolicy(const Choice& choice)
      : budget_(choice.integer("budget")),
        theta_(choice.decimal("theta")),
        by_count_(choice.text("mode") == "lfu"),
        reduce_(aggregate_of(choice)) {}

  void make_room_in_set(std::int32_t /*set*/, const Residents& residents,
                        std::vector<std::int32_t>& drop) override {
    if (residents.size() >= budget_) lowest(residents.column(kRank), 1, drop);
  }

  void update(std::int32_t /*set*/, Residents& residents, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    const auto rank = residents.column(kRank);
    const auto now = static_cast<double>(residents.positions().back());
    for (std::size_t i = 0; i < rank.size(); ++i)
      if (i + 1 == rank.size() || weights.value[i] / weights.divisor >= theta_)
        rank[i] = by_count_ ? rank[i] + 1 : now;
  }

  void evict_set(std::int32_t /*set*/, const Residents& /*residents*/,
                 std::vector<std::int32_t>& /*drop*/) override {}

 private:
  std::int64_t budget_;
  double theta_;
  bool by_count_;
  Reducer reduce_;
};

}  // namespace

PolicyTraits access_traits(const Choice& choice) {
  return {.prompt_rows = kAllRows,
          .decode_rows = true,
          .columns = 1,
          .makes_room = true,
          .state_bytes_per_cell = choice.text("mode") == "lfu" ? 4 : 8,
          .budget = choice.integer("budget"),
          .count = core::KeptCount{choice.integer("budget")}};
}

std::unique_ptr<LayerPolicy> make_access_policy(const LayerInput& input) {
  return std::make_unique<AccessPolicy>(input.choice);
}

}  // namespace kvplan::attention
