// The structure of recorded keys, values and attention, which limits low-rank formats and sparse attention.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/formats/linear.h"

namespace kvplan::formats {

struct AnalysisRequest {
  double energy{0.99};     ///< share of the squares for an effective rank
  double threshold{0.01};  ///< attention weights up to this count as zero
  std::int32_t sequence{0};
  std::int32_t layer{0};
};

/// A matrix with singular values s_1 >= s_2 >= ...
struct Spectrum {
  std::int64_t effective_rank{0};  ///< least r with s_1^2 + ... + s_r^2 >= energy * (sum of all squares)
  std::int64_t value_rank{0};      ///< least r with s_1 + ... + s_r >= energy * (sum of all)
  double stable_rank{0};           ///< sum of all squares / s_1^2; 0 for a zero matrix
  double margin{1};                ///< least distance between a cumulative share of squares and `energy`
};

/// Spectrum of the keys or values of a KV head (tokens x channels), or of the rows of a query head (tokens x tokens).
struct TensorSpectrum {
  Spectrum spectrum;
  std::vector<double> singular_values;  ///< at most the first four
  struct Tail {
    std::int64_t rank{0};
    /// Sqrt of the share of squares beyond the rank: the least error of any approximation of that rank
    double relative{0};
  };
  std::vector<Tail> tails;  ///< at an eighth, a quarter and half of the columns
};

/// Spectrum of the keys or values of one KV head, token after token. REQUIRES: whole tokens, at least one.
TensorSpectrum tensor_spectrum(const std::vector<float>& tensor, std::int32_t channels, double energy);

/// Spectrum of the rows of one query head as a matrix of tokens x tokens, zeros above the diagonal. Squares of its
/// singular values are the eigenvalues of the sum of outer products of rows. Memory: tokens^2 numbers; the time grows
/// with the cube of tokens.
class RowsSpectrum {
 public:
  explicit RowsSpectrum(std::int64_t tokens)
      : products_(static_cast<std::size_t>(tokens), static_cast<std::size_t>(tokens)) {}
  /// Adds rows 0, 1, ..., each with one weight per visible token.
  void add(std::span<const double> row);
  /// Call once, after all rows.
  TensorSpectrum finish(double energy);

 private:
  Matrix products_;  ///< lower half
};

/// Rows of a query head as a matrix of tokens x tokens, zeros above the diagonal.
struct AttentionStructure {
  std::optional<Spectrum> spectrum;             ///< empty beyond kMostRankTokens
  double sparsity_full{0};                      ///< share of weights at or below the threshold, of tokens^2
  double sparsity_causal{0};                    ///< the same share of weights on and below the diagonal
  double mean_entropy{0};                       ///< entropy of rows, in nats
  std::optional<double> mean_relative_entropy;  ///< entropy / ln(t + 1), mean over rows t >= 1
  std::optional<double> sink_mass;              ///< total weight of tokens 0 .. 3, mean over rows t >= 4
};
inline constexpr std::int64_t kMostRankTokens = 2048;

/// The memory estimate of kvplan's design notes: bytes in 4-byte numbers, and channels / tokens times these bytes.
struct Monitor {
  std::int64_t original_bytes{0};
  std::int64_t estimate_bytes{0};
  double ratio{0};
};

struct Analysis {
  std::array<std::vector<TensorSpectrum>, 2> tensors;  ///< [side][KV head]; empty if not recorded
  std::vector<AttentionStructure> attention;           ///< [query head]
  std::optional<Monitor> monitor;                      ///< present if keys and values were recorded
  /// How close a result was to changing: the least distance of a cumulative share from `energy`, or of a weight from
  /// `threshold` divided by the threshold.
  double min_margin{0};
};

/// Analyses all tokens of a sequence. `pause` is called now and then; its error ends the analysis. Errors: a missing
/// sequence or layer, rows that cannot be read.
Result<Analysis> analyse(const attention::Recording& recording, const AnalysisRequest& request,
                         const std::function<Status()>& pause);

}  // namespace kvplan::formats
