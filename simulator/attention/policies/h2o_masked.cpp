// H2O as its masking simulation runs it (utils_hh): nothing is dropped, but the next query sees only the heaviest
// tokens and the newest. Unlike in `h2o`, the token that has just left the newest `recent - 1` is hidden for one
// step, keeps its accumulated weight, and may return.
#include <algorithm>
#include <memory>
#include <numeric>

#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::h2o_masked {
namespace {

constexpr int kScore = 0;

class H2oMasked final : public SetPolicy {
 public:
  H2oMasked(const LayerPlace& place, std::int64_t heavy, std::int64_t recent, Aggregate aggregate)
      : place_(place),
        heavy_(heavy),
        recent_(recent),
        reduce_(aggregate),
        shown_(static_cast<std::size_t>(place.kv_heads())) {}

  [[nodiscard]] std::span<const std::int32_t> shown(std::int32_t query_head) const override {
    return shown_[static_cast<std::size_t>(query_head / place_.group)];
  }

  void update(std::int32_t set, Residents& residents, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    const auto score = residents.column(kScore);
    // Nothing is ever dropped: a position is its own index.
    for (std::size_t i = 0; i < weights.value.size(); ++i)
      score[static_cast<std::size_t>(heads[0].positions[i])] += weights.value[i] / weights.divisor;
    if (residents.size() >= place_.prompt) mask(shown_[static_cast<std::size_t>(set)], score);
  }

  void evict_set(std::int32_t /*set*/, const Residents& /*residents*/,
                 std::vector<std::int32_t>& /*drop*/) override {}

 private:
  void mask(std::vector<std::int32_t>& shown, std::span<double> score) const {
    const auto n = static_cast<std::int64_t>(score.size());
    shown.clear();
    if (n <= heavy_ + recent_) {
      shown.resize(score.size());
      std::iota(shown.begin(), shown.end(), 0);
      return;
    }
    const std::int64_t old = n - recent_;
    highest(score.first(static_cast<std::size_t>(old)), static_cast<std::int32_t>(heavy_), shown);
    if (recent_ > 0) {  // if none is protected, the original's slice [-0:] protects all
      auto heaviest = shown.begin();
      for (std::int64_t p = 0; p < old; ++p) {
        if (heaviest != shown.end() && *heaviest == p) {
          ++heaviest;
        } else {
          score[static_cast<std::size_t>(p)] = 0;
        }
      }
    }
    for (std::int64_t p = old + 1; p < n; ++p) shown.push_back(static_cast<std::int32_t>(p));
  }

  LayerPlace place_;
  std::int64_t heavy_;
  std::int64_t recent_;
  Reducer reduce_;
  std::vector<std::vector<std::int32_t>> shown_;  ///< [KV head]
};

constexpr std::array kParams{
    tokens_param("hh", "Tokens visible for their accumulated attention (heavy hitters)", 0),
    tokens_param("recent", "Newest tokens; one fewer than this is visible", 0), kGroupParam, kAggParam,
    kPlacementParam};

PolicyTraits traits(const Choice& /*choice*/) {
  return {.prompt_rows = kAllRows,
          .decode_rows = true,
          .columns = 1,
          .reads = Reads::kShown,
          .state_bytes_per_cell = 4,
          .interval = KeptInterval{.sink = 0, .recent = INT64_MAX}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<H2oMasked>(input.place, input.choice.integer("hh"), input.choice.integer("recent"),
                                     aggregate_of(input.choice));
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "h2o-masked",
                   .summary = "H2O as its masking simulation: it frees nothing, so runs refuse it",
                   .source = "arXiv 2306.14048; FMInference/H2O@ac75c2a h2o_hf/utils_hh",
                   .params = kParams,
                   .divergences =
                       "hh + recent - 1 old tokens are visible; h2o keeps hh + recent. A token that leaves "
                       "the recent ones is masked for one step, and may be visible again later."},
    .golden_name = "h2o_masked",
    .budget = {.param = "hh", .beside = "recent"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::h2o_masked
