// LagKV: each partition of the prompt is normalised with the range of the next one; tokens with keys and values that
// stand out are kept. The first tokens, and the last whole partition with all that follows it, are always kept.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "simulator/attention/kernels.h"
#include "simulator/attention/tensor_score.h"

namespace kvplan::attention::lagkv {
namespace {

class LagKv final : public TensorScore {
 public:
  explicit LagKv(const LayerInput& input)
      : TensorScore(input),
        sink_(static_cast<std::size_t>(input.choice.integer("sink"))),
        lag_(static_cast<std::size_t>(input.choice.integer("lag"))) {}

 private:
  void score(KeyView keys, ValueView values, std::span<const std::int32_t> positions,
             std::span<double> out) override {
    const std::size_t n = positions.size();
    std::fill(out.begin(), out.end(), 1.0);
    std::fill_n(out.begin(), std::min(sink_, n), 2.0);  // above the last partition
    if (n < sink_ + 2 * lag_) {                         // too short to compare: the newest
      for (std::size_t i = sink_; i < n; ++i)
        out[i] = static_cast<double>(i - sink_) / static_cast<double>(n - sink_);
      return;
    }
    const auto key = [&](std::size_t i, std::int32_t c) { return keys.at(positions[i], c); };
    const auto value = [&](std::size_t i, std::int32_t c) {
      return static_cast<double>(
          values.data[static_cast<std::size_t>(positions[i]) * static_cast<std::size_t>(values.size) +
                      static_cast<std::size_t>(c)]);
    };
    for (std::size_t begin = sink_; begin + 2 * lag_ <= n; begin += lag_) {
      const std::vector<double> of_keys = outstanding(key, keys.size, begin);
      const std::vector<double> of_values = outstanding(value, values.size, begin);
      std::vector<double> sum(lag_);
      for (std::size_t i = 0; i < lag_; ++i) sum[i] = (of_keys[i] + of_values[i]) / 2;
      std::vector<std::size_t> order(lag_);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return sum[a] < sum[b]; });
      for (std::size_t rank = 0; rank < lag_; ++rank)
        out[begin + order[rank]] = static_cast<double>(rank) / static_cast<double>(lag_);
    }
  }

  /// Softmax over a partition of how unevenly each token's channels lie in the range of the next partition.
  template <class At>
  std::vector<double> outstanding(At at, std::int32_t channels, std::size_t begin) const {
    std::vector<std::pair<double, double>> range;  // of each channel: least, and extent
    for (std::int32_t c = 0; c < channels; ++c) {
      double least = at(begin + lag_, c);
      double most = least;
      for (std::size_t i = begin + lag_; i < begin + 2 * lag_; ++i) {
        least = std::min(least, at(i, c));
        most = std::max(most, at(i, c));
      }
      range.emplace_back(least, most - least);
    }
    std::vector<double> out;
    for (std::size_t i = begin; i < begin + lag_; ++i) {
      double mean = 0;
      std::vector<double> scaled;
      for (std::int32_t c = 0; c < channels; ++c) {
        const auto [least, extent] = range[static_cast<std::size_t>(c)];
        scaled.push_back(extent > 0 ? (at(i, c) - least) / extent : 0.0);
        mean += scaled.back();
      }
      mean /= static_cast<double>(channels);
      double squares = 0;
      for (const double each : scaled) squares += (each - mean) * (each - mean);
      out.push_back(channels > 1 ? std::sqrt(squares / static_cast<double>(channels - 1)) : 0.0);
    }
    const double sum = exp_from_max(out);
    for (double& each : out) each /= sum;
    return out;
  }

  std::size_t sink_;
  std::size_t lag_;
};

constexpr std::array kParams{kTensorBudgetParam,
                             kEveryParam,
                             Param{.name = "sink",
                                   .help = "First tokens, which are always kept",
                                   .unit = Unit::kTokens,
                                   .fallback = "4",
                                   .low = 0,
                                   .high = kMaxTokens},
                             Param{.name = "lag",
                                   .help = "Tokens per partition",
                                   .unit = Unit::kTokens,
                                   .fallback = "128",
                                   .low = 1,
                                   .high = kMaxTokens},
                             kGroupParam,
                             kAggParam,
                             kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return tensor_traits(choice, true);
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<LagKv>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "lagkv",
         .summary =
             "Keeps the tokens with the keys and values that differ most from the next partition; needs "
             "recorded keys and values",
         .source = "arXiv 2504.04704; NVIDIA/kvpress@8bb29b9 kvpress/presses/lagkv_press.py",
         .params = kParams,
         .divergences =
             "Ranks produce exact ties between partitions, which published runs leave to their "
             "library; kvplan keeps the newer token. In the public code, first tokens and the last "
             "partition tie as well; kvplan keeps the first tokens. For a channel that is constant "
             "in the next partition the public code computes 0/0; kvplan counts 0."},
    .golden_name = "lagkv",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::lagkv
