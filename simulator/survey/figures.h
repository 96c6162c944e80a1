// What is measured of recorded attention, each figure by its definition.
//
// A figure is one of a head of a layer in one sequence. Over several sequences it is the mean over those that have it,
// each counting alike; with one sequence it is that sequence's own. What cannot be said of a sequence (too short, not
// recorded) is absent there, and absent over all where no sequence has it.
//
// Notation: T tokens of the layer in the sequence, counted from 0. Row t of a query head has the weights w(t, 0..t); a
// query sees no token behind its own. Weights are as recorded or computed: with a sink logit a row sums to less than
// 1, and outside a layer's window its weights are 0. k(i), v(i): key (after position encoding) and value of token i in
// one KV head.
//
//   "late rows"      rows t >= 64. Shorter rows are even by necessity: on 16 tokens all are near.
//   "far tokens"     of row t, tokens 1 .. t - 16: neither the first nor the last 16. What far tokens get is no sink
//                    and no window; it is what a policy has to choose among.
//   got(i)           the sum of w(t, i) over the late rows in which i is far, for tokens i = 1 .. T - 17. Other tokens
//                    are far in no row.
//   "heavy tokens"   of these N = T - 17 tokens the max(1, floor(N / 10)) with the greatest got(i); among equals the
//                    newer one. Of a layer: by the sum of got(i) over its query heads, added in their order.
//
// Late rows and far tokens are those of traces/recorder/sample/measure.py, where these definitions come from. T <= 64
// has no late row: figures of them are absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace kvplan::survey {

inline constexpr std::int64_t kLateRow = 64;
inline constexpr std::int64_t kNear = 16;
inline constexpr std::int64_t kSinks = 4;
/// One heavy token among so many.
inline constexpr std::int64_t kHeavyOf = 10;
inline constexpr double kThreshold = 0.01;
inline constexpr double kEnergy = 0.99;
/// Ranks of attention maps are computed of sequences of at most so many tokens, unless told otherwise.
inline constexpr std::int64_t kRankTokens = 512;

/// Tokens that are far in some late row: 1 .. far_tokens(T); 0 where there is no late row.
constexpr std::int64_t far_tokens(std::int64_t tokens) {
  return tokens > kLateRow ? tokens - kNear - 1 : 0;
}
/// Heavy tokens among them.
constexpr std::int64_t heavy_tokens(std::int64_t far) {
  return far == 0 ? 0 : (far >= kHeavyOf ? far / kHeavyOf : 1);
}

enum class Figure : std::uint8_t {
  // Of query heads.

  /// 1 - (weights above 0.01) / T^2, all rows: the zeros above the diagonal count as sparse. Founding notes.
  kSparsityFull,
  /// 1 - (weights above 0.01) / (T (T + 1) / 2), all rows. At t > 100 an even row has no weight above 0.01.
  kSparsityCausal,
  /// Mean over all rows of H(t) = - sum of w ln w, in nats.
  kEntropy,
  /// Mean over rows t >= 1 of H(t) / ln(t + 1): 1 is an even row.
  kRelativeEntropy,
  /// Mean over all rows of exp(H(t)): so many tokens with even weights would have that entropy.
  kEffectiveTokens,
  /// Mean over the late rows of w(t, 0).
  kFirstMass,
  /// Mean over rows t >= 4 of w(t, 0) + ... + w(t, 3). StreamingLLM, arXiv 2309.17453.
  kSinkMass,
  /// Mean over the late rows of the sum of w(t, t - 15 .. t).
  kNearMass,
  /// Mean over the late rows of 16 / (t + 1): what kNearMass would be if every token got the same.
  kNearEven,
  /// Mean over the late rows of n / (t + 1), n the least number of greatest weights with half of the row's sum.
  kHalfShare,
  /// Likewise with nine tenths of the row's sum.
  kMostShare,
  /// Sum of got(i) over the heavy tokens, over its sum over all N. An even head has about a tenth. H2O, arXiv
  /// 2306.14048.
  kHeavyShare,
  /// Scissorhands, arXiv 2305.17118. With m = floor(T / 2), a token i < m is pivotal in a half if w(t, i) > 1 / (t + 1)
  /// in any row t < m (first half), or t >= m (second). The share of those pivotal in the second half that were pivotal
  /// in the first. Absent where none is pivotal in the second half.
  kPersistence,
  /// The share of the m tokens that is pivotal in the first half: what kPersistence would be by chance.
  kPivotalShare,
  /// The same with means for single rows, which on long halves tells more apart: token i < m is pivotal in a half if
  /// the sum of w(t, i) over the rows t >= i of the half is greater than the sum of 1 / (t + 1) over these rows.
  kMeanPersistence,
  /// The share of the m tokens that is so in the first half: what kMeanPersistence would be by chance.
  kMeanPivotalShare,
  /// Mean over the other query heads of the layer of (heavy tokens in common) / (heavy tokens). By chance it is
  /// (heavy tokens) / N, about a tenth. Absent of a lone head.
  kHeadsOverlap,
  /// Spearman's rank correlation (equal values share their mean rank), over tokens 1 .. T - 17, of |k(i)| with got(i)
  /// over the number of rows it is summed over. Below 0: small keys get much attention, as KNorm assumes, arXiv
  /// 2406.11430.
  kKeyNormCorrelation,

  // Of query heads; A is the matrix of T x T weights w(t, i), 0 for i > t, with singular values s_1 >= s_2 >= ...
  // Absent of sequences with more tokens than were asked for (survey.h): the time grows with T^3.

  /// The least r with s_1^2 + ... + s_r^2 >= 0.99 of all squares: the energy of A is that of r directions. Founding
  /// notes.
  kMapRank,
  /// The least r with s_1 + ... + s_r >= 0.99 (s_1 + ... + s_T), as the code of Eigen Attention counts, arXiv
  /// 2408.05646.
  kMapValueRank,
  /// |A|_F^2 / |A|_2^2: all squares / s_1^2.
  kMapStableRank,
  /// sqrt of the share of squares beyond rank floor(T / 8), the relative error of the best matrix of that rank.
  kMapTailEighth,
  kMapTailQuarter,
  kMapTailHalf,

  // Of KV heads; matrices of T tokens by d channels with singular values s_1 >= s_2 >= ...

  /// Of k: the least r with s_1^2 + ... + s_r^2 >= 0.99 of all squares.
  kKeyRank,
  /// Of k: the least r with s_1 + ... + s_r >= 0.99 of their sum.
  kKeyValueRank,
  /// Of k: all squares / s_1^2.
  kKeyStableRank,
  /// Of k: sqrt of the share of squares beyond rank d / 8, the relative error of the best matrix of that rank.
  kKeyTailEighth,
  kKeyTailQuarter,
  kKeyTailHalf,
  kValueRank,
  kValueValueRank,
  kValueStableRank,
  kValueTailEighth,
  kValueTailQuarter,
  kValueTailHalf,
  /// Mean over tokens of the cosine of k(i) here and k(i) of the same KV head one layer on. Tokens with a zero key in
  /// either are left out. Absent where the next layer was not recorded or has other heads. MiniCache, arXiv 2405.14366.
  kKeyCosine,
  kValueCosine,
};
inline constexpr std::size_t kFigures = static_cast<std::size_t>(Figure::kValueCosine) + 1;
constexpr std::size_t index(Figure figure) {
  return static_cast<std::size_t>(figure);
}

/// Figures that are no single number but one at each of several points.
enum class Curve : std::uint8_t {
  /// Of query heads, at k = 1, 2, 4, ... up to the first power of two that is no less than the longest sequence: mean
  /// over the late rows of the sum of the min(k, t + 1) greatest weights. No choice of k tokens for a row holds more:
  /// it is the mass of oracle-topk:group=1,k=K with a prompt of 64 tokens.
  kTopMass,
  /// Of KV heads, in twelve steps of 15 degrees: share of the tokens whose angle between k(i) here and k(i) of the same
  /// KV head one layer on is in the step (its lower end included; 180 degrees are in the last). Tokens and layers are
  /// left out as for kKeyCosine. MiniCache merges two layers where angles are small and keeps tokens with large ones,
  /// arXiv 2405.14366.
  kKeyAngles,
  kValueAngles,
};
inline constexpr std::size_t kCurves = static_cast<std::size_t>(Curve::kValueAngles) + 1;
constexpr std::size_t index(Curve curve) {
  return static_cast<std::size_t>(curve);
}
inline constexpr std::int64_t kAngleSteps = 12;
inline constexpr std::int64_t kStepDegrees = 15;

/// Points of kTopMass for sequences of at most so many tokens, ascending: 1 alone for one token.
std::vector<std::int64_t> top_mass_points(std::int64_t tokens);
/// Upper ends of the steps of angles, in degrees.
std::vector<std::int64_t> angle_points();

/// How a figure's numbers are written for people.
enum class Scale : std::uint8_t {
  kShare,   ///< 0 to 1, written in percent
  kNumber,  ///< in its unit
};

struct FigureKind {
  Figure figure;
  std::string_view key;    ///< in JSON and CSV
  std::string_view title;  ///< a few words
  std::string_view unit;   ///< of its numbers in JSON and CSV
  Scale scale;
  bool of_kv_head;
  bool drawn;                   ///< false: beside another figure in tables, no map of its own
  std::string_view definition;  ///< one sentence
};

struct CurveKind {
  Curve curve;
  std::string_view key, title;
  std::string_view along;  ///< what points are: tokens, degrees
  bool of_kv_head;
  std::string_view definition;  ///< one sentence
};
/// In the order of Curve.
std::span<const CurveKind> curve_kinds();

/// In the order of Figure.
std::span<const FigureKind> figure_kinds();
inline const FigureKind& kind_of(Figure figure) {
  return figure_kinds()[index(figure)];
}

}  // namespace kvplan::survey
