#include "simulator/survey/figures.h"

#include <array>

namespace kvplan::survey {

std::span<const FigureKind> figure_kinds() {
  using enum Figure;
  using enum Scale;
  static constexpr std::array<FigureKind, kFigures> kKinds{{
      {kSparsityFull, "sparsity_full", "Sparsity of the full square", "share", kShare, false, false,
       "Share of the T x T weights that are at most 0.01, including the zeros above the diagonal."},
      {kSparsityCausal, "sparsity_causal", "Sparsity", "share", kShare, false, true,
       "Share of the weights on and below the diagonal that are at most 0.01. With more than 100 tokens, "
       "uniform rows count as sparse too."},
      {kEntropy, "entropy", "Entropy", "nats", kNumber, false, true, "Mean entropy of all rows."},
      {kRelativeEntropy, "relative_entropy", "Relative entropy", "share", kShare, false, true,
       "Mean of entropy / ln(t + 1) over rows t >= 1; 100 % is a uniform row."},
      {kEffectiveTokens, "effective_tokens", "Effective tokens", "tokens", kNumber, false, true,
       "Mean of exp(entropy) over all rows: the number of equally weighted tokens that would have the same "
       "entropy."},
      {kFirstMass, "first_mass", "Mass on the first token", "share", kShare, false, true,
       "Mean over rows t >= 64 of the weight of token 0."},
      {kSinkMass, "sink_mass", "Mass on the first 4 tokens", "share", kShare, false, true,
       "Mean over rows t >= 4 of the sum of the weights of tokens 0 to 3."},
      {kNearMass, "near_mass", "Mass on the last 16 tokens", "share", kShare, false, true,
       "Mean over rows t >= 64 of the sum of the weights of tokens t - 15 to t."},
      {kNearEven, "near_even", "The same for uniform rows", "share", kShare, false, false,
       "Mean over rows t >= 64 of 16 / (t + 1)."},
      {kHalfShare, "half_share", "Tokens that hold half of a row", "share", kShare, false, true,
       "Mean over rows t >= 64 of the smallest share of tokens that holds half of the row's mass."},
      {kMostShare, "most_share", "Tokens that hold 90 % of a row", "share", kShare, false, true,
       "Mean over rows t >= 64 of the smallest share of tokens that holds nine tenths of the row's mass."},
      {kHeavyShare, "heavy_share", "Heavy tokens' share", "share", kShare, false, true,
       "Far attention is the attention of rows t >= 64 to tokens 1 to t - 16. Heavy tokens are the tenth of "
       "tokens 1 to T - 17 that get most of it. The figure is their share of all far attention."},
      {kPersistence, "persistence", "Persistence", "share", kShare, false, true,
       "Consider tokens of the first half with a weight above 1 / (t + 1) in any row of the second half: the "
       "share of them that had such a weight in the first half."},
      {kPivotalShare, "pivotal_share", "Persistence by chance", "share", kShare, false, false,
       "Share of the first half's tokens with a weight above 1 / (t + 1) in any row of the first half."},
      {kMeanPersistence, "mean_persistence", "Persistence of means", "share", kShare, false, true,
       "Consider tokens of the first half with a mean weight above the mean of 1 / (t + 1) in the rows of "
       "the second half: the share of them for which the same holds in the first half."},
      {kMeanPivotalShare, "mean_pivotal_share", "Persistence of means by chance", "share", kShare, false,
       false,
       "Share of the first half's tokens with a mean weight above the mean of 1 / (t + 1) in the rows of the "
       "first half."},
      {kHeadsOverlap, "heads_overlap", "Heavy tokens shared with other heads", "share", kShare, false, true,
       "Share of a head's heavy tokens that are heavy in another query head of the same layer, averaged over "
       "the other heads; about a tenth by chance."},
      {kKeyNormCorrelation, "key_norm_correlation", "Key norm and attention", "rank correlation", kNumber,
       false, true,
       "Spearman's rank correlation, over tokens 1 to T - 17, of the key norm |k| with the token's mean far "
       "attention; negative if small keys get much attention."},
      {kMapRank, "map_effective_rank", "Effective rank of attention", "tokens", kNumber, false, true,
       "Smallest rank that holds 99 % of the sum of squares of the T x T weights."},
      {kMapValueRank, "map_value_rank", "Effective rank by singular values", "tokens", kNumber, false, false,
       "Smallest rank that holds 99 % of the sum of the singular values."},
      {kMapStableRank, "map_stable_rank", "Stable rank of attention", "tokens", kNumber, false, true,
       "Sum of squares divided by the square of the largest singular value."},
      {kMapTailEighth, "map_tail_eighth", "Attention beyond rank T / 8", "share", kShare, false, false,
       "Relative error of the best approximation of rank T / 8."},
      {kMapTailQuarter, "map_tail_quarter", "Attention beyond rank T / 4", "share", kShare, false, true,
       "Relative error of the best approximation of rank T / 4."},
      {kMapTailHalf, "map_tail_half", "Attention beyond rank T / 2", "share", kShare, false, false,
       "Relative error of the best approximation of rank T / 2."},
      {kKeyRank, "key_effective_rank", "Effective rank of keys", "channels", kNumber, true, true,
       "Smallest rank that holds 99 % of the sum of squares."},
      {kKeyValueRank, "key_value_rank", "Effective rank by singular values", "channels", kNumber, true, false,
       "Smallest rank that holds 99 % of the sum of the singular values."},
      {kKeyStableRank, "key_stable_rank", "Stable rank of keys", "channels", kNumber, true, true,
       "Sum of squares divided by the square of the largest singular value."},
      {kKeyTailEighth, "key_tail_eighth", "Keys beyond an eighth of the channels", "share", kShare, true,
       false, "Relative error of the best matrix with rank d / 8."},
      {kKeyTailQuarter, "key_tail_quarter", "Keys beyond a quarter of the channels", "share", kShare, true,
       true, "Relative error of the best matrix with rank d / 4."},
      {kKeyTailHalf, "key_tail_half", "Keys beyond half of the channels", "share", kShare, true, false,
       "Relative error of the best matrix with rank d / 2."},
      {kValueRank, "value_effective_rank", "Effective rank of values", "channels", kNumber, true, true,
       "Smallest rank that holds 99 % of the sum of squares."},
      {kValueValueRank, "value_value_rank", "Effective rank by singular values", "channels", kNumber, true,
       false, "Smallest rank that holds 99 % of the sum of the singular values."},
      {kValueStableRank, "value_stable_rank", "Stable rank of values", "channels", kNumber, true, true,
       "Sum of squares divided by the square of the largest singular value."},
      {kValueTailEighth, "value_tail_eighth", "Values beyond an eighth of the channels", "share", kShare,
       true, false, "Relative error of the best matrix with rank d / 8."},
      {kValueTailQuarter, "value_tail_quarter", "Values beyond a quarter of the channels", "share", kShare,
       true, true, "Relative error of the best matrix with rank d / 4."},
      {kValueTailHalf, "value_tail_half", "Values beyond half of the channels", "share", kShare, true, false,
       "Relative error of the best matrix with rank d / 2."},
      {kKeyCosine, "key_cosine_next", "Keys compared with the next layer", "cosine", kNumber, true, true,
       "Mean over tokens of the cosine of a key and the same KV head's key in the next layer."},
      {kValueCosine, "value_cosine_next", "Values compared with the next layer", "cosine", kNumber, true,
       true, "Mean over tokens of the cosine of a value and the same KV head's value in the next layer."},
  }};
  return kKinds;
}

std::span<const CurveKind> curve_kinds() {
  static constexpr std::array<CurveKind, kCurves> kKinds{{
      {Curve::kTopMass, "top_mass", "Mass of the largest weights", "tokens", false,
       "Mean over rows t >= 64 of the sum of the row's n largest weights: no set of n tokens holds more."},
      {Curve::kKeyAngles, "key_angles", "Angles between keys of adjacent layers", "degrees", true,
       "Share of tokens by the angle of their key and the same KV head's key in the next layer, in steps of "
       "15 degrees."},
      {Curve::kValueAngles, "value_angles", "Angles between values of adjacent layers", "degrees", true,
       "Share of tokens by the angle of their value and the same KV head's value in the next layer, in steps "
       "of 15 degrees."},
  }};
  return kKinds;
}

std::vector<std::int64_t> top_mass_points(std::int64_t tokens) {
  std::vector<std::int64_t> out{1};
  while (out.back() < tokens) out.push_back(2 * out.back());
  return out;
}

std::vector<std::int64_t> angle_points() {
  std::vector<std::int64_t> out;
  for (std::int64_t step = 1; step <= kAngleSteps; ++step) out.push_back(step * kStepDegrees);
  return out;
}

}  // namespace kvplan::survey
