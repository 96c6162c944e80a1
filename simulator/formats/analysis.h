// How much structure recorded keys, values and attention have: what bounds formats of low rank and sparse attention.
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
  double energy{0.99};     ///< of an effective rank
  double threshold{0.01};  ///< an attention weight above it is no zero
  std::int32_t sequence{0};
  std::int32_t layer{0};
};

/// Of a matrix with singular values s_1 >= s_2 >= ...
struct Spectrum {
  std::int64_t effective_rank{0};  ///< least r with s_1^2 + ... + s_r^2 >= energy * (all squares)
  std::int64_t value_rank{0};      ///< least r with s_1 + ... + s_r >= energy * (their sum)
  double stable_rank{0};           ///< all squares / s_1^2; 0 of a zero matrix
  double margin{1};                ///< least distance of a cumulative share of squares from the energy
};

/// Keys or values of a KV head, tokens x channels; or the rows of a query head, tokens x tokens.
struct TensorSpectrum {
  Spectrum spectrum;
  std::vector<double> singular_values;  ///< the first four at most
  struct Tail {
    std::int64_t rank{0};
    double relative{0};  ///< sqrt of the share of squares beyond the rank: the least error of that rank
  };
  std::vector<Tail> tails;  ///< at an eighth, a quarter and half of the columns
};

/// Of the keys or values of one KV head, token after token. REQUIRES: whole tokens, at least one.
TensorSpectrum tensor_spectrum(const std::vector<float>& tensor, std::int32_t channels, double energy);

/// The rows of one query head as a matrix of tokens x tokens, zeros above the diagonal; squares of its singular values
/// are the eigenvalues of the sum of outer products of rows. Memory: tokens^2 numbers; the time grows with their cube.
class RowsSpectrum {
 public:
  explicit RowsSpectrum(std::int64_t tokens)
      : products_(static_cast<std::size_t>(tokens), static_cast<std::size_t>(tokens)) {}
  /// Rows 0, 1, ... with as many weights as they have tokens.
  void add(std::span<const double> row);
  /// Once, after all rows.
  TensorSpectrum finish(double energy);

 private:
  Matrix products_;  ///< lower half
};

/// Rows of a query head, tokens x tokens, zeros above the diagonal.
struct AttentionStructure {
  std::optional<Spectrum> spectrum;             ///< empty beyond kMostRankTokens
  double sparsity_full{0};                      ///< weights at or below the threshold, of tokens^2
  double sparsity_causal{0};                    ///< of those on and below the diagonal
  double mean_entropy{0};                       ///< of rows, in nats
  std::optional<double> mean_relative_entropy;  ///< over ln(t + 1), rows t >= 1
  std::optional<double> sink_mass;              ///< mean of weights of tokens 0 .. 3, rows t >= 4
};
inline constexpr std::int64_t kMostRankTokens = 2048;

/// The founding notes' monitor: bytes in 4-byte numbers, and its estimate channels / tokens of that.
struct Monitor {
  std::int64_t original_bytes{0};
  std::int64_t estimate_bytes{0};
  double ratio{0};
};

struct Analysis {
  std::array<std::vector<TensorSpectrum>, 2>
      tensors;                                ///< [side][KV head]; empty where they were not recorded
  std::vector<AttentionStructure> attention;  ///< [query head]
  std::optional<Monitor> monitor;             ///< where keys and values were recorded
  /// How near a decision was to falling otherwise: the least distance of a cumulative share from the energy, and of a
  /// weight from the threshold, over the threshold.
  double min_margin{0};
};

/// Over all tokens of a sequence. `pause` is asked now and then; its error ends the analysis. Errors: a sequence or
/// layer that is not there, rows that cannot be read.
Result<Analysis> analyse(const attention::Recording& recording, const AnalysisRequest& request,
                         const std::function<Status()>& pause);

}  // namespace kvplan::formats
