// Sums over a recording: the tokens and bytes that were read, and their share of the attention.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace kvplan::readers {

/// Bytes of one or more steps: keys and values, and metadata beside them.
struct ReadBytes {
  std::int64_t cells{0};
  std::int64_t metadata{0};

  [[nodiscard]] std::int64_t total() const { return cells + metadata; }
  void add(const ReadBytes& other) {
    cells += other.cells;
    metadata += other.metadata;
  }
};

/// A sample is one query head at one decode step. Order of additions: that of samples, then of tallies that are
/// added.
struct Tally {
  std::int64_t samples{0};
  std::int64_t error_samples{0};  ///< samples of layers with values
  double mass{0};                 ///< sum of the full row's weights of read tokens
  double mass_least{0};
  double oracle_mass{0};  ///< sum of the greatest mass of any set of equal size
  double overlap{0};      ///< sum of the share of the oracle's set that was read
  double error{0};        ///< sum of |o - o'| / |o| of the attention output
  double error_most{0};
  std::int64_t tokens{0};       ///< sum of the sizes of query heads' sets
  std::int64_t head_steps{0};   ///< KV heads x steps
  std::int64_t head_tokens{0};  ///< sum over KV heads and steps: tokens that any of its query heads reads
  ReadBytes read;               ///< sum: each token once for a KV head, metadata once
  ReadBytes read_apart;         ///< sum: each query head fetches separately
  std::int64_t full_bytes{0};   ///< sum: all visible tokens, once for a KV head

  void add(const Tally& other) {
    if (other.samples > 0)
      mass_least = samples == 0 ? other.mass_least : std::min(mass_least, other.mass_least);
    samples += other.samples;
    error_samples += other.error_samples;
    mass += other.mass;
    oracle_mass += other.oracle_mass;
    overlap += other.overlap;
    error += other.error;
    error_most = std::max(error_most, other.error_most);
    tokens += other.tokens;
    head_steps += other.head_steps;
    head_tokens += other.head_tokens;
    read.add(other.read);
    read_apart.add(other.read_apart);
    full_bytes += other.full_bytes;
  }

  /// `sum` divided by the samples; absent without samples.
  [[nodiscard]] std::optional<double> mean(double sum) const { return over(sum, samples); }
  [[nodiscard]] std::optional<double> mean_error() const { return over(error, error_samples); }
  [[nodiscard]] std::optional<double> greatest_error() const {
    return error_samples == 0 ? std::nullopt : std::optional(error_most);
  }
  [[nodiscard]] std::optional<double> least_mass() const {
    return samples == 0 ? std::nullopt : std::optional(mass_least);
  }
  [[nodiscard]] std::optional<double> mean_tokens() const {
    return over(static_cast<double>(tokens), samples);
  }
  [[nodiscard]] std::optional<double> mean_head_tokens() const {
    return over(static_cast<double>(head_tokens), head_steps);
  }
  /// Bytes read, divided by the bytes of reading everything.
  [[nodiscard]] std::optional<double> read_fraction() const {
    return over(static_cast<double>(read.total()), full_bytes);
  }

 private:
  static std::optional<double> over(double sum, std::int64_t count) {
    if (count == 0) return std::nullopt;
    return sum / static_cast<double>(count);
  }
};

}  // namespace kvplan::readers
