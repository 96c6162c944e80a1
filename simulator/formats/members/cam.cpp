// CaM: the value of a dropped token is spread over the values of the remaining tokens behind it.
#include <algorithm>
#include <array>

#include "simulator/base/random.h"
#include "simulator/formats/formats.h"
#include "simulator/formats/loops.h"
#include "simulator/formats/merging.h"

namespace kvplan::formats::cam {
namespace {

constexpr std::array<std::string_view, 2> kScores{"sum", "newest"};
constexpr std::array<std::string_view, 2> kDraws{"drawn", "expected"};
constexpr std::array kParams{
    Param{.name = "spread",
          .help = "Number of kept tokens after an evicted one that take over a part of its value",
          .unit = Unit::kTokens,
          .fallback = "32",
          .low = 1,
          .high = kMostTokens},
    Param{
        .name = "score",
        .help =
            "Attention of a token: the sum of all weights that it received, or the weight in the newest row",
        .kind = ParamKind::kText,
        .fallback = "sum",
        .choices = kScores},
    Param{.name = "merge",
          .help =
              "Let p be the evicted token's attention divided by the mean attention of the receiving tokens. "
              "drawn: merge the whole value with probability p. expected: always merge the share p of it",
          .kind = ParamKind::kText,
          .fallback = "drawn",
          .choices = kDraws},
    Param{.name = "seed",
          .help = "Seed of the random merging",
          .fallback = "0",
          .low = 0,
          .high = 9007199254740992.0}};

class Cam final : public MergingCodec {
 public:
  Cam(const Shape& shape, const Choice& choice)
      : MergingCodec(shape),
        spread_(choice.integer("spread")),
        sums_(choice.text("score") == "sum"),
        drawn_(choice.text("merge") == "drawn"),
        scores_(static_cast<std::size_t>(shape.kv_heads)) {
    const auto seed = static_cast<std::uint64_t>(choice.integer("seed"));
    for (std::int32_t h = 0; h < shape.kv_heads; ++h)
      draws_.emplace_back(seed + 0x9E3779B97F4A7C15ULL * (1 + static_cast<std::uint64_t>(h)));
  }

  [[nodiscard]] WeightUse weight_use() const override {
    return sums_ ? WeightUse::kSums : WeightUse::kNewest;
  }
  [[nodiscard]] Regions regions(Side side) const override {
    Regions out = MergingCodec::regions(side);
    if (sums_ && side == Side::kKeys)
      for (const Plane& plane : planes(side)) out.index += kSumBytes * plane.tokens();
    return out;
  }
  static constexpr std::int64_t kSumBytes = 4;  ///< for each token of a head

 protected:
  void on_append() override {
    for (std::int32_t h = 0; h < shape().kv_heads; ++h)
      scores_[static_cast<std::size_t>(h)].resize(positions(h).size());
  }
  void on_attended(std::int32_t head, std::span<const double> weights) override {
    auto& scores = scores_[static_cast<std::size_t>(head)];
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = sums_ ? scores[i] + weights[i] : weights[i];
  }
  void on_merge(std::span<const std::vector<std::int32_t>> heads) override {
    for (std::size_t h = 0; h < heads.size(); ++h)
      if (!heads[h].empty()) merge(static_cast<std::int32_t>(h), heads[h]);
  }
  void on_drop(std::int32_t head, std::span<const std::int32_t> indices) override {
    auto& scores = scores_[static_cast<std::size_t>(head)];
    for (auto at = indices.rbegin(); at != indices.rend(); ++at) scores.erase(scores.begin() + *at);
  }

 private:
  void merge(std::int32_t head, std::span<const std::int32_t> gone) {
    Plane& values = plane_of(Side::kValues, head);
    const auto& scores = scores_[static_cast<std::size_t>(head)];
    const std::vector<std::int32_t> kept = staying(values, gone);
    const auto size = static_cast<std::size_t>(values.size());
    std::vector<double> added(kept.size() * size);
    std::vector<bool> takes(kept.size(), false);
    for (const std::int32_t i : gone) {
      const auto begin =
          static_cast<std::size_t>(std::upper_bound(kept.begin(), kept.end(), i) - kept.begin());
      const std::size_t end = std::min(kept.size(), begin + static_cast<std::size_t>(spread_));
      double mean = 0;
      for (std::size_t k = begin; k < end; ++k) mean += scores[static_cast<std::size_t>(kept[k])];
      const auto takers = static_cast<double>(end - begin);
      if (begin < end) mean /= takers;
      const double share =
          share_of(scores[static_cast<std::size_t>(i)], mean, draws_[static_cast<std::size_t>(head)]);
      if (begin == end || share == 0) continue;
      for (std::size_t k = begin; k < end; ++k) {
        add_scaled(share / takers, values.stored(i).data(), added.data() + k * size, size);
        takes[k] = true;
      }
    }
    for (std::size_t k = 0; k < kept.size(); ++k) {
      if (!takes[k]) continue;
      std::vector<double> sum(values.stored(kept[k]).begin(), values.stored(kept[k]).end());
      for (std::size_t c = 0; c < size; ++c) sum[c] += added[k * size + c];
      put(values, kept[k], sum);
    }
  }

  /// The share of a value that is merged. One number is drawn for every dropped token.
  [[nodiscard]] double share_of(double own, double mean, Random& draws) const {
    // 0 / 0 counts as 0.
    const double chance = own <= 0 ? 0.0 : own >= mean ? 1.0 : own / mean;
    if (!drawn_) return chance;
    return draws.unit() < chance ? 1.0 : 0.0;
  }

  std::int64_t spread_;
  bool sums_;
  bool drawn_;
  std::vector<std::vector<double>> scores_;  ///< [KV head][token]
  std::vector<Random> draws_;                ///< [KV head]
};

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Cam>(shape, choice);
}

Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  Regions out = merged_bytes(choice, shape, lengths, side);
  if (choice.text("score") == "sum" && side == Side::kKeys)
    out.index = Cam::kSumBytes * shape.kv_heads * lengths.stored();
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "cam",
                   .summary =
                       "Spreads the value of an evicted token over the values of the kept tokens after it",
                   .source = "CaM: Cache Merging for Memory-efficient LLMs Inference (ICML 2024); "
                             "NVIDIA/kvpress@0ba9162:kvpress/presses/cam_press.py",
                   .params = kParams,
                   .divergences =
                       "kvplan follows kvpress: divide by the mean over the available tokens, and use summed "
                       "attention. The authors' code divides by the mean over the next 16 or 32 tokens of "
                       "one step; their test harness and KVCache-Factory divide by the largest, and divide a "
                       "shorter rest by the full number. kvpress merges only the best of the tokens that are "
                       "evicted at once; kvplan merges all. kvpress sums attention from the first generated "
                       "token; kvplan also counts the prompt's rows, because policies evict when the prompt "
                       "ends. kvplan's random draws are seeded; the other codes set no seed."},
    .golden_name = "cam",
    .exactness = Exactness::kTolerance,
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = always_by_count, .paging = always_in_tokens},
    .whole_prompt = true};

}  // namespace kvplan::formats::cam
