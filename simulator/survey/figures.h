// Measurements of recorded attention, each with its definition.
//
// A figure belongs to one head of a layer in one sequence. Over several sequences it is the mean over those that have
// it, each with equal weight. A figure that a sequence cannot have (too short, not recorded) is absent there, and
// absent overall if no sequence has it.
//
// Notation: T tokens of the layer in the sequence, counted from 0. Row t of a query head has the weights w(t, 0..t); a
// query sees no token behind its own. Weights are as recorded or computed: with a sink logit a row sums to less than
// 1, and outside a layer's window its weights are 0. k(i), v(i): key (after position encoding) and value of token i in
// one KV head.
//
//   "late rows"      rows t >= 64. Shorter rows are even of necessity: with 16 tokens all tokens are near.
//   "far tokens"     of row t, tokens 1 .. t - 16: not the first token and not the last 16. Their attention is neither
//                    sink nor window: a policy has to choose among them.
//   got(i)           the sum of w(t, i) over the late rows in which i is far, for tokens i = 1 .. T - 17. Other tokens
//                    are far in no row.
//   "heavy tokens"   the max(1, floor(N / 10)) of these N = T - 17 tokens with the greatest got(i); among equals the
//                    newer one. For a layer: by the sum of got(i) over its query heads, added in their order.
//
// Late rows and far tokens are those of traces/recorder/sample/measure.py, where these definitions come from. T <= 64
// has no late row: figures based on them are absent.
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
/// One in this many tokens is heavy.
inline constexpr std::int64_t kHeavyOf = 10;
inline constexpr double kThreshold = 0.01;
inline constexpr double kEnergy = 0.99;
/// Ranks of attention maps are computed for sequences of at most this many tokens, unless another limit is given.
inline constexpr std::int64_t kRankTokens = 512;

/// Number of tokens that are far in some late row, which are 1 .. far_tokens(T); 0 without late rows.
constexpr std::int64_t far_tokens(std::int64_t tokens) {
  return tokens > kLateRow ? tokens - kNear - 1 : 0;
}
/// Number of heavy tokens among them.
constexpr std::int64_t heavy_tokens(std::int64_t far) {
  return far == 0 ? 0 : (far >= kHeavyOf ? far / kHeavyOf : 1);
}

enum class Figure : std::uint8_t {
  // Figures of query heads.

  /// 1 - (weights above 0.01) / T^2, over all rows: the zeros above the diagonal count as sparse. Founding notes.
  kSparsityFull,
  /// 1 - (weights above 0.01) / (T (T + 1) / 2), over all rows. For t > 100 an even row has no weight above 0.01.
  kSparsityCausal,
  /// Mean over all rows of H(t) = - sum of w ln w, in nats.
  kEntropy,
  /// Mean over rows t >= 1 of H(t) / ln(t + 1); 1 for even rows.
  kRelativeEntropy,
  /// Mean over all rows of exp(H(t)): the number of tokens with equal weights that would have that entropy.
  kEffectiveTokens,
  /// Mean over the late rows of w(t, 0).
  kFirstMass,
  /// Mean over rows t >= 4 of w(t, 0) + ... + w(t, 3). StreamingLLM, arXiv 2309.17453.
  kSinkMass,
  /// Mean over the late rows of the sum of w(t, t - 15 .. t).
  kNearMass,
  /// Mean over the late rows of 16 / (t + 1): the value of kNearMass for even rows.
  kNearEven,
  /// Mean over the late rows of n / (t + 1), n the least number of greatest weights that sum to half of the row.
  kHalfShare,
  /// As kHalfShare, with nine tenths of the row.
  kMostShare,
  /// Sum of got(i) over the heavy tokens, divided by its sum over all N. About a tenth for an even head. H2O, arXiv
  /// 2306.14048.
  kHeavyShare,
  /// Scissorhands, arXiv 2305.17118. With m = floor(T / 2), a token i < m is pivotal in a half if w(t, i) > 1 / (t +
  /// 1) in any row t < m (first half), or t >= m (second). The figure: of the tokens pivotal in the second half, the
  /// share that was pivotal in the first. Absent if none is pivotal in the second half.
  kPersistence,
  /// The share of the m tokens that is pivotal in the first half: the value of kPersistence expected by chance.
  kPivotalShare,
  /// As kPersistence, with means instead of single rows, which distinguishes more on long halves: token i < m is
  /// pivotal in a half if the sum of w(t, i) over the rows t >= i of the half is greater than the sum of 1 / (t + 1)
  /// over these rows.
  kMeanPersistence,
  /// The share of the m tokens that is pivotal by means in the first half: kMeanPersistence expected by chance.
  kMeanPivotalShare,
  /// Mean over the other query heads of the layer of (heavy tokens in common) / (heavy tokens). By chance it is
  /// (heavy tokens) / N, about a tenth. Absent for a single head.
  kHeadsOverlap,
  /// Spearman's rank correlation (equal values share their mean rank), over tokens 1 .. T - 17, between |k(i)| and
  /// got(i) divided by the number of rows in its sum. Below 0: small keys get much attention, as KNorm assumes, arXiv
  /// 2406.11430.
  kKeyNormCorrelation,

  // Figures of query heads; A is the matrix of T x T weights w(t, i), 0 for i > t, with singular values s_1 >= s_2 >=
  // ... Absent for sequences with more tokens than the limit (survey.h): the time grows with T^3.

  /// The least r with s_1^2 + ... + s_r^2 >= 0.99 of all squares: r directions have the energy of A. Founding notes.
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

  // Figures of KV heads; matrices of T tokens by d channels with singular values s_1 >= s_2 >= ...

  /// For keys: the least r with s_1^2 + ... + s_r^2 >= 0.99 of all squares.
  kKeyRank,
  /// For keys: the least r with s_1 + ... + s_r >= 0.99 of their sum.
  kKeyValueRank,
  /// For keys: all squares / s_1^2.
  kKeyStableRank,
  /// For keys: sqrt of the share of squares beyond rank d / 8, the relative error of the best matrix of that rank.
  kKeyTailEighth,
  kKeyTailQuarter,
  kKeyTailHalf,
  kValueRank,
  kValueValueRank,
  kValueStableRank,
  kValueTailEighth,
  kValueTailQuarter,
  kValueTailHalf,
  /// Mean over tokens of the cosine between k(i) here and k(i) of the same KV head in the next layer. Tokens with a
  /// zero key in either are left out. Absent if the next layer was not recorded or has other heads. MiniCache, arXiv
  /// 2405.14366.
  kKeyCosine,
  kValueCosine,
};
inline constexpr std::size_t kFigures = static_cast<std::size_t>(Figure::kValueCosine) + 1;
constexpr std::size_t index(Figure figure) {
  return static_cast<std::size_t>(figure);
}

/// Figures with one number at each of several points.
enum class Curve : std::uint8_t {
  /// For query heads, at k = 1, 2, 4, ... up to the first power of two that is at least the longest sequence: mean
  /// over the late rows of the sum of the min(k, t + 1) greatest weights. No choice of k tokens for a row has more:
  /// it is the mass of oracle-topk:group=1,k=K with a prompt of 64 tokens.
  kTopMass,
  /// For KV heads, in twelve steps of 15 degrees: share of the tokens for which the angle between k(i) here and k(i)
  /// of the same KV head in the next layer is in the step (lower end included; 180 degrees are in the last). Tokens
  /// and layers are left out as for kKeyCosine. MiniCache merges two layers if angles are small and keeps tokens with
  /// large ones, arXiv 2405.14366.
  kKeyAngles,
  kValueAngles,
};
inline constexpr std::size_t kCurves = static_cast<std::size_t>(Curve::kValueAngles) + 1;
constexpr std::size_t index(Curve curve) {
  return static_cast<std::size_t>(curve);
}
inline constexpr std::int64_t kAngleSteps = 12;
inline constexpr std::int64_t kStepDegrees = 15;

/// Points of kTopMass for sequences of at most this many tokens, ascending; for one token there is only the point 1.
std::vector<std::int64_t> top_mass_points(std::int64_t tokens);
/// Upper ends of the steps of angles, in degrees.
std::vector<std::int64_t> angle_points();

/// How a figure's numbers are written in texts.
enum class Scale : std::uint8_t {
  kShare,   ///< 0 to 1, written as a percentage
  kNumber,  ///< in its unit
};

struct FigureKind {
  Figure figure;
  std::string_view key;    ///< key in JSON and CSV
  std::string_view title;  ///< a few words
  std::string_view unit;   ///< unit of the numbers in JSON and CSV
  Scale scale;
  bool of_kv_head;
  bool drawn;                   ///< false: shown beside another figure in tables, without a map of its own
  std::string_view definition;  ///< one sentence
};

struct CurveKind {
  Curve curve;
  std::string_view key, title;
  std::string_view along;  ///< the meaning of points: tokens, degrees
  bool of_kv_head;
  std::string_view definition;  ///< one sentence
};
/// All kinds of curves, in the order of Curve.
std::span<const CurveKind> curve_kinds();

/// All kinds of figures, in the order of Figure.
std::span<const FigureKind> figure_kinds();
inline const FigureKind& kind_of(Figure figure) {
  return figure_kinds()[index(figure)];
}

}  // namespace kvplan::survey
