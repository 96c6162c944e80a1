// A dropped token is merged into the kept token with the most similar key.
#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/formats/formats.h"
#include "simulator/formats/loops.h"
#include "simulator/formats/merging.h"

namespace kvplan::formats::merge {
namespace {

constexpr std::array<std::string_view, 4> kRules{"d2o", "weighted", "pivot", "values"};
constexpr std::array kParams{
    Param{.name = "rule",
          .help = "How an evicted token is merged. d2o: weighted by its cosine similarity, if that is at "
                  "least the threshold. weighted: weighted mean. pivot: half of a mean with its target. "
                  "values: values only, by cosine and norm",
          .kind = ParamKind::kText,
          .fallback = "d2o",
          .choices = kRules},
    Param{.name = "smoothing",
          .help = "rule=d2o: weight of the old threshold in the new one",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = "0.5",
          .low = 0,
          .high = 1}};

double length_of(std::span<const double> x) {
  return std::sqrt(dot(x.data(), x.data(), x.size()));
}

/// The kept token into which a dropped token would be merged.
struct Target {
  std::size_t kept{0};  ///< index among the remaining tokens
  double cosine{0};
};

class Merge final : public MergingCodec {
 public:
  Merge(const Shape& shape, const Choice& choice)
      : MergingCodec(shape), rule_(choice.text("rule")), smoothing_(choice.decimal("smoothing")) {}

 protected:
  void on_merge(std::span<const std::vector<std::int32_t>> heads) override {
    std::vector<std::vector<std::int32_t>> kept(heads.size());
    std::vector<std::vector<Target>> targets(heads.size());
    for (std::size_t h = 0; h < heads.size(); ++h) {
      kept[h] = staying(plane(Side::kKeys, static_cast<std::int32_t>(h)), heads[h]);
      targets[h] = targets_of(static_cast<std::int32_t>(h), heads[h], kept[h]);
    }
    const std::vector<bool> merged = merged_places(targets);
    for (std::size_t h = 0; h < heads.size(); ++h)
      for (const Side side : kSides)
        if (side == Side::kValues || rule_ != "values")
          merge(plane_of(side, static_cast<std::int32_t>(h)), heads[h], kept[h], targets[h], merged);
  }

 private:
  /// The target of each dropped token; none if no token remains. Of equal cosines the older token.
  [[nodiscard]] std::vector<Target> targets_of(std::int32_t head, std::span<const std::int32_t> gone,
                                               std::span<const std::int32_t> kept) const {
    const Plane& keys = plane(Side::kKeys, head);
    std::vector<Target> out;
    if (kept.empty()) return out;
    std::vector<double> lengths;
    if (!gone.empty())
      for (const std::int32_t k : kept) lengths.push_back(length_of(keys.stored(k)));
    for (const std::int32_t i : gone) {
      const auto key = keys.stored(i);
      const double length = length_of(key);
      Target best{.kept = 0, .cosine = -2};
      for (std::size_t k = 0; k < kept.size(); ++k) {
        const double lengths_of_both = length * lengths[k];
        // A key of length 0 is similar to no other.
        const double cosine = lengths_of_both > 0
                                  ? dot(key.data(), keys.stored(kept[k]).data(), key.size()) / lengths_of_both
                                  : 0.0;
        if (cosine > best.cosine) best = {k, cosine};
      }
      out.push_back(best);
    }
    return out;
  }

  /// For the first, second, ... dropped token: whether it is merged, the same in all heads.
  std::vector<bool> merged_places(std::span<const std::vector<Target>> targets) {
    std::size_t most = 0;
    for (const auto& of_head : targets) most = std::max(most, of_head.size());
    std::vector<bool> out(most, true);
    if (rule_ != "d2o" || most == 0) return out;
    double all = 0;
    double count = 0;
    std::vector<double> means(most);
    for (std::size_t i = 0; i < most; ++i) {
      double heads = 0;
      for (const auto& of_head : targets) {
        if (i >= of_head.size()) continue;
        means[i] += of_head[i].cosine;
        ++heads;
      }
      all += means[i];
      count += heads;
      means[i] /= heads;
    }
    threshold_ = threshold_ ? smoothing_ * *threshold_ + (1 - smoothing_) * (all / count) : all / count;
    for (std::size_t i = 0; i < most; ++i) out[i] = means[i] >= *threshold_;
    return out;
  }

  void merge(Plane& plane, std::span<const std::int32_t> gone, std::span<const std::int32_t> kept,
             std::span<const Target> targets, const std::vector<bool>& merged) const {
    const auto size = static_cast<std::size_t>(plane.size());
    std::vector<double> added(kept.size() * size);
    std::vector<double> divisor(kept.size(), 1.0);
    std::vector<bool> takes(kept.size(), false);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!merged[i]) continue;
      const std::size_t k = targets[i].kept;
      const auto own = plane.stored(gone[i]);
      const auto other = plane.stored(kept[k]);
      double* const to = added.data() + k * size;
      if (rule_ == "d2o") {
        add_scaled(targets[i].cosine, own.data(), to, size);
        divisor[k] += 1;
      } else if (rule_ == "pivot") {
        add_scaled(0.5, own.data(), to, size);
        add_scaled(0.5, other.data(), to, size);
        divisor[k] += 1;
      } else {
        const double weight =
            rule_ == "weighted" ? (targets[i].cosine + 1) / 2 : value_weight(targets[i].cosine, own, other);
        if (weight == 0) continue;
        add_scaled(weight, own.data(), to, size);
        divisor[k] += weight;
      }
      takes[k] = true;
    }
    for (std::size_t k = 0; k < kept.size(); ++k) {
      if (!takes[k]) continue;
      std::vector<double> sum(plane.stored(kept[k]).begin(), plane.stored(kept[k]).end());
      for (std::size_t c = 0; c < size; ++c) sum[c] = (sum[c] + added[k * size + c]) / divisor[k];
      put(plane, kept[k], sum);
    }
  }

  static double value_weight(double cosine, std::span<const double> own, std::span<const double> target) {
    const double lengths = length_of(own) + length_of(target);
    return cosine > 0 && lengths > 0 ? cosine * length_of(own) / lengths : 0.0;
  }

  std::string rule_;
  double smoothing_;
  std::optional<double> threshold_;
};

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Merge>(shape, choice);
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "merge",
         .summary = "Merges each evicted token into the kept token with the most similar key",
         .source = "arXiv 2406.13035 (D2O), AIoT-MLSys-Lab/D2O@2092325; Zefan-Cai/KVCache-Factory@5fb995d "
                   "(weighted, pivot); NVIDIA/kvpress@0603dec:kvpress/presses/merging_press.py (values)",
         .params = kParams,
         .divergences =
             "D2O's code divides a weighted sum by the number of tokens instead of the sum of weights, which "
             "shortens keys. rule=d2o does the same; KVCache-Factory's weighted rule divides by weights. D2O "
             "compares the first evicted token of every head with one threshold, then the second, and so on; "
             "kvplan does the same. D2O evicts nothing in layers 0 and 1; use d2o of the family budget for "
             "that. kvpress adds 1e-6 to norms, and can leave some of the least similar tokens unmerged. "
             "Merged keys mix the rotations of several positions; only rule=values leaves keys unchanged."},
    .golden_name = "merge",
    .exactness = Exactness::kTolerance,
    .make = make,
    .lengths = {.regions = merged_bytes, .by_count = always_by_count, .paging = always_in_tokens},
    .whole_prompt = true};

}  // namespace kvplan::formats::merge
