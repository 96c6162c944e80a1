// Ada-KV: SnapKV with a budget that moves between the heads of a layer. Heads that hold more of the best scores of
// the whole layer keep more; each head keeps at least a floor.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "simulator/attention/policy.h"
#include "simulator/attention/prompt_scores.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::ada_kv {
namespace {

using HeadScores = std::vector<std::vector<double>>;  ///< [KV head][position before the window]

class AdaKv final : public LayerPolicy {
 public:
  AdaKv(const LayerPlace& place, const Choice& choice)
      : place_(place),
        window_(prompt_window_of(choice)),
        floor_(choice.decimal("floor")),
        normalize_(choice.flag("normalize")),
        aggregate_(aggregate_of(choice)),
        scores_(place) {}

  void update(std::int32_t set, Residents& /*residents*/, std::span<const HeadRow> heads) override {
    scores_.add(set, heads);
  }

  void evict(std::span<ResidentSet> sets) override {
    const std::int64_t before = place_.prompt - window_.window;
    if (base() > before || !scores_.prompt_ends(sets[0].residents)) return;
    const HeadScores pooled = pooled_scores(before);
    const std::vector<std::int64_t> counts = count_best(pooled);
    for (std::size_t s = 0; s < sets.size(); ++s) {
      const std::int64_t keep = std::min(before, capacity(counts[s]));
      lowest(pooled[s], static_cast<std::int32_t>(before - keep), sets[s].drop);
      scores_.forget(static_cast<std::int32_t>(s));
    }
  }

 private:
  /// Tokens of each head in addition to its window, before heads exchange budget.
  [[nodiscard]] std::int64_t base() const { return window_.capacity - window_.window; }

  HeadScores pooled_scores(std::int64_t before) {
    for (std::int32_t h = 0; h < place_.query_heads; ++h)
      for (double& score : scores_.of_head(h)) score /= static_cast<double>(window_.window);
    HeadScores out;
    for (std::int32_t s = 0; s < place_.kv_heads(); ++s)
      out.push_back(pool(scores_.of_set(s, before, aggregate_), window_.kernel, window_.pooling));
    return out;
  }

  /// The share of a head's scores that its own best `base` tokens have.
  [[nodiscard]] double concentration(const std::vector<double>& scores) const {
    const double all = std::accumulate(scores.begin(), scores.end(), 0.0);
    std::vector<std::int32_t> best;
    highest(scores, static_cast<std::int32_t>(base()), best);
    double sum = 0;
    for (const std::int32_t i : best) sum += scores[static_cast<std::size_t>(i)];
    return all > 0 ? sum / all : 0.0;
  }

  /// How many of the layer's best heads * base tokens each head has: ranked by score, newer position, lower head.
  [[nodiscard]] std::vector<std::int64_t> count_best(const HeadScores& pooled) const {
    struct Entry {
      double score;
      std::int32_t position;
      std::int32_t head;
    };
    std::vector<Entry> entries;
    for (std::size_t s = 0; s < pooled.size(); ++s) {
      const double weight = normalize_ ? concentration(pooled[s]) : 1.0;
      for (std::size_t i = 0; i < pooled[s].size(); ++i)
        entries.push_back(
            {pooled[s][i] * weight, static_cast<std::int32_t>(i), static_cast<std::int32_t>(s)});
    }
    const auto chosen = base() * static_cast<std::int64_t>(pooled.size());
    const auto better = [](const Entry& a, const Entry& b) {
      if (a.score != b.score) return a.score > b.score;
      return a.position != b.position ? a.position > b.position : a.head < b.head;
    };
    if (chosen < static_cast<std::int64_t>(entries.size()))
      std::nth_element(entries.begin(), entries.begin() + chosen, entries.end(), better);
    std::vector<std::int64_t> counts(pooled.size());
    for (std::int64_t i = 0; i < chosen; ++i)
      ++counts[static_cast<std::size_t>(entries[static_cast<std::size_t>(i)].head)];
    return counts;
  }

  /// Computed in single precision and rounded half to even, like the tensors of the original code.
  [[nodiscard]] std::int64_t capacity(std::int64_t count) const {
    const auto least = static_cast<std::int64_t>(static_cast<double>(base()) * floor_);
    const auto shared = static_cast<float>(static_cast<double>(count) * (1.0 - floor_));
    return static_cast<std::int64_t>(std::nearbyint(shared + static_cast<float>(least)));
  }

  LayerPlace place_;
  PromptWindow window_;
  double floor_;
  bool normalize_;
  Aggregate aggregate_;
  PromptScores scores_;
};

constexpr std::array kParams{
    kWindowParam,
    kCapacityParam,
    kKernelParam,
    kPoolingParam,
    Param{.name = "floor",
          .help = "Share of the budget that every head gets regardless of its scores",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = "0.2",
          .low = 0,
          .high = 1},
    Param{.name = "normalize",
          .help = "Normalise a head's scores by the sum of its own top scores",
          .kind = ParamKind::kFlag,
          .fallback = "false"},
    kGroupParam,
    kAggParam,
    kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.prompt_rows = choice.integer(kWindowParam.name)};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<AdaKv>(input.place, input.choice);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "ada-kv",
         .summary = "SnapKV with a budget per head: heads of a layer with more of the top scores get more",
         .source = "arXiv 2407.11550; FFY0/AdaKV@efe4e2e adaptive_snapkv/monkeypatch/snapkv_utils.py",
         .params = kParams,
         .divergences =
             "Rounding can lose tokens of the layer's total, as in the public code: with a mean budget of "
             "3 per head and floor=0.2, heads with 4 and 2 of the best tokens get 3 and 2. "
             "KVCache-Factory normalises scores by default, Ada-KV does not. kvpress masks tokens "
             "instead of freeing them. Max pooling produces exact ties. In published runs the "
             "library breaks them; kvplan keeps the newer token, and prefers the lower head. The flat cache "
             "of the public code stores offsets of 4 "
             "bytes per head; kvplan does not count them, because its blocks have block tables."},
    .golden_name = "adakv",
    .budget = {.param = "capacity", .of_prompt = true},
    .check = check_prompt_window,
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::ada_kv
