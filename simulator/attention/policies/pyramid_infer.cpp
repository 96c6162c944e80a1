// PyramidInfer: after each layer, the context tokens to which the prompt's last queries attend least leave the model,
// so deeper layers never store them. While decoding, tokens are thinned out when they are no longer among the newest.
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <numbers>
#include <vector>

#include "simulator/attention/policy.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::pyramid_infer {
namespace {

constexpr double kRecentShare = 0.2;        // of the prompt; the newest token comes on top
constexpr double kLastWeight = 1.2;         // of the newest row, from 1 for the oldest
constexpr std::int64_t kSinks = 4;          // first context tokens, never left out
constexpr std::int64_t kLeastContext = 64;  // less is not thinned out
constexpr std::int64_t kBatch = 16;         // generated tokens thinned out together
constexpr double kBatchShare = 0.9;         // of these, before the layer's share
constexpr double kDecodeRatio = 0.1;        // what `ratio` is for the prompt

/// Falls from 1 in the first layer towards `least`, as a cosine.
double share_of(double least, std::int32_t layer, std::int32_t layers) {
  return least + (1 - least) * (std::cos(std::numbers::pi * layer / layers) + 1) / 2;
}

/// Of a prompt: tokens that are never left out, but for the newest one.
std::int64_t recent_of(std::int64_t prompt) {
  return static_cast<std::int64_t>(kRecentShare * static_cast<double>(prompt));
}

/// Of so many tokens that entered a layer of a prompt, how many enter the next one.
std::int64_t passed_on(std::int64_t entered, std::int64_t prompt, double ratio, std::int32_t layer,
                       std::int32_t layers) {
  const std::int64_t newest = 1 + recent_of(prompt);
  const std::int64_t context = entered - newest;
  const std::int64_t least = std::min(kLeastContext, prompt - newest);
  const auto stay = static_cast<std::int64_t>(static_cast<double>(context) * share_of(ratio, layer, layers));
  return context <= least || stay <= least ? entered : stay + newest;
}

/// Of kBatch generated tokens, how many a layer keeps.
std::int64_t kept_of_batch(std::int32_t layer, std::int32_t layers) {
  const double share = share_of(kDecodeRatio, layer, layers);
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(static_cast<double>(kBatch) * kBatchShare * share));
}

/// The latest rows, at most 1 + recent of them, over what is stored.
struct Rows {
  std::deque<std::vector<double>> rows;
  std::deque<std::vector<std::int32_t>> positions;

  void add(std::vector<std::int32_t> at, std::vector<double> weights, std::int64_t most) {
    rows.push_back(std::move(weights));
    positions.push_back(std::move(at));
    if (static_cast<std::int64_t>(rows.size()) <= most) return;
    rows.pop_front();
    positions.pop_front();
  }
  /// Sum of the rows' weights at these ascending positions, newer rows counting more. What a row lacks counts nothing.
  [[nodiscard]] std::vector<double> sum_at(std::span<const std::int32_t> of) const {
    std::vector<double> out(of.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double step = rows.size() > 1 ? (kLastWeight - 1) / static_cast<double>(rows.size() - 1) : 0.0;
      const double weight = 1 + static_cast<double>(r) * step;
      std::size_t at = 0;
      for (std::size_t i = 0; i < of.size(); ++i) {
        while (at < positions[r].size() && positions[r][at] < of[i]) ++at;
        if (at < positions[r].size() && positions[r][at] == of[i]) out[i] += weight * rows[r][at];
      }
    }
    return out;
  }
};

class PyramidInfer final : public SetPolicy {
 public:
  PyramidInfer(const LayerPlace& place, double ratio)
      : place_(place), recent_(recent_of(place.prompt)), ratio_(ratio) {
    for (std::int32_t p = 0; p < place.prompt; ++p) entered_.push_back(p);
  }

  void lower_layer(std::int32_t layer, std::span<const HeadRow> heads) override {
    add(latest_, heads, entered_);
    if (heads[0].positions.back() != place_.prompt - 1) return;
    leave_out(layer);
    latest_ = {};
  }

  void update(std::int32_t /*set*/, Residents& residents, std::span<const HeadRow> heads) override {
    const auto positions = residents.positions();
    // The prompt's own rows see only what entered the layer.
    add(latest_, heads,
        positions.back() < place_.prompt ? std::span<const std::int32_t>(entered_) : positions);
  }

  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const auto positions = residents.positions();
    const std::int64_t n = residents.size();
    if (positions.back() == place_.prompt - 1) {
      for (std::int32_t i = 0; i < n; ++i)
        if (!std::binary_search(entered_.begin(), entered_.end(), positions[static_cast<std::size_t>(i)]))
          drop.push_back(i);
      settled_ = static_cast<std::int64_t>(entered_.size());
      return;
    }
    if (n - recent_ - settled_ < kBatch) return;
    const auto first = static_cast<std::size_t>(n - 1 - recent_ - kBatch);
    const std::int64_t stay = kept_of_batch(place_.layer, place_.layers);
    lowest(latest_.sum_at(positions.subspan(first, kBatch)), static_cast<std::int32_t>(kBatch - stay), drop);
    for (std::int32_t& index : drop) index += static_cast<std::int32_t>(first);
    settled_ = n - static_cast<std::int64_t>(drop.size()) - recent_;
  }

 private:
  /// The mean over the heads of their rows, restricted to `seen` and divided by its sum.
  void add(Rows& to, std::span<const HeadRow> heads, std::span<const std::int32_t> seen) const {
    std::vector<std::int32_t> positions;
    std::vector<double> mean;
    for (const HeadRow& row : heads) {
      std::vector<double> part;
      std::size_t at = 0;
      for (std::size_t i = 0; i < row.positions.size(); ++i) {
        while (at < seen.size() && seen[at] < row.positions[i]) ++at;
        if (at == seen.size() || seen[at] != row.positions[i]) continue;
        if (&row == heads.data()) positions.push_back(row.positions[i]);
        part.push_back(row.weight[i]);
      }
      double sum = 0;
      for (const double weight : part) sum += weight;
      mean.resize(part.size());
      for (std::size_t i = 0; i < part.size(); ++i)
        mean[i] += (sum > 0 ? part[i] / sum : 0.0) / static_cast<double>(heads.size());
    }
    to.add(std::move(positions), std::move(mean), 1 + recent_);
  }

  /// What this layer's rows leave out of what the next one stores.
  void leave_out(std::int32_t layer) {
    const auto entered = static_cast<std::int64_t>(entered_.size());
    const std::int64_t leave = entered - passed_on(entered, place_.prompt, ratio_, layer, place_.layers);
    if (leave == 0) return;
    const std::int64_t context = entered - 1 - recent_;
    const auto of = std::span<const std::int32_t>(entered_).first(static_cast<std::size_t>(context));
    std::vector<double> score = latest_.sum_at(of);
    for (std::int64_t i = 0; i < std::min(kSinks, context); ++i) score[static_cast<std::size_t>(i)] = 1e300;
    std::vector<std::int32_t> gone;
    lowest(score, static_cast<std::int32_t>(leave), gone);
    for (auto index = gone.rbegin(); index != gone.rend(); ++index) entered_.erase(entered_.begin() + *index);
  }

  LayerPlace place_;
  std::int64_t recent_;
  double ratio_;
  std::vector<std::int32_t> entered_;  ///< positions of the prompt that this layer stores
  Rows latest_;
  std::int64_t settled_{0};  ///< tokens that were thinned out already, or belong to the prompt
};

constexpr std::array kParams{
    Param{.name = "ratio",
          .help = "Share of its context that the last layer passes on; the first layer passes on everything",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = "0.9",
          .low = 0,
          .high = 1},
    kGroupParam, kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& /*choice*/) {
  return {.scope = Scope::kLayer,
          .rows = RowUse::kRaw,
          .prompt_rows = kAllRows,
          .decode_rows = true,
          .lower_layers = true,
          .thins = true};
}

std::vector<core::KeptCount> layer_counts(const Choice& choice, std::int64_t prompt, std::int64_t layers) {
  std::vector<core::KeptCount> out;
  std::int64_t entered = prompt;
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    const auto all = static_cast<std::int32_t>(layers);
    out.push_back(
        {.budget = entered,
         .once = true,
         .thinning = {
             .newest = recent_of(prompt), .round = kBatch, .leave = kBatch - kept_of_batch(layer, all)}});
    entered = passed_on(entered, prompt, choice.decimal("ratio"), layer, all);
  }
  return out;
}

std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<PyramidInfer>(input.place, input.choice.decimal("ratio"));
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "pyramidinfer",
         .summary = "Each layer passes on only the tokens that the end of the prompt attends to, so deeper "
                    "layers store fewer",
         .source = "arXiv 2405.12532; mutonix/pyramidinfer@61ac641 models/modeling_llama_pyramidinfer.py",
         .params = kParams,
         .divergences =
             "In the original system, evicted tokens change the deeper layers. A recording shows the full "
             "model's layers; kvplan restricts their rows to the stored tokens. The public code "
             "computes a linear schedule, then overwrites it with one ratio for all layers: 0.9 for each "
             "layer "
             "keeps 44 % of the prompt over 32 layers. The cosine schedule "
             "with 0.9 keeps 76.6 % of a 4,096-token prompt; no ratio gives the abstract's saving of 54 %. "
             "While decoding, the public code also stores the attention weights of the newest fifth of the "
             "prompt's queries for every stored token; kvplan does not count these bytes. Heads are always "
             "averaged. In a run, every layer computes "
             "and stores the whole prompt before eviction, so prefill takes the time and memory of the full "
             "cache."},
    .golden_name = "pyramidinfer",
    .traits = traits,
    .make = make,
    .layer_counts = layer_counts};

}  // namespace kvplan::attention::pyramid_infer
