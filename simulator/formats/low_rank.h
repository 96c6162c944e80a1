// Shared by the low-rank formats: bytes of factors, and truncation. Factors are stored as their decoded products, in
// doubles, and count 2 bytes for each number.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/formats/codec.h"
#include "simulator/formats/linear.h"

namespace kvplan::formats {

class LowRankCodec : public Codec {
 public:
  explicit LowRankCodec(const Shape& shape) : Codec(shape, 0, 0) {}
  [[nodiscard]] CodeForm code_form() const override { return CodeForm::kNone; }

 protected:
  static constexpr std::int64_t kBytes = 2;  ///< bytes of one number of a factor
  /// Tokens [begin, end) of a plane as the rows of a matrix.
  static Matrix rows_of(const Plane& plane, std::int32_t begin, std::int32_t end);
  /// Replaces tokens [begin, end) by their best approximation of rank `rank`, in a new block. Returns the rank:
  /// min(rank, tokens, channels).
  static std::int64_t truncate(Plane& plane, std::int32_t begin, std::int32_t end, std::int64_t rank);
  /// As truncate, with the least rank for which the squares of the singular values have this share of their sum; at
  /// least 1.
  static std::int64_t truncate_by_energy(Plane& plane, std::int32_t begin, std::int32_t end, double energy);
  /// Bytes of the exact tokens of a side.
  [[nodiscard]] std::int64_t exact_bytes(Side side) const;

 private:
  /// Projects onto the first `rank` singular vectors.
  static std::int64_t project_all(Plane& plane, std::int32_t begin, std::int32_t end, const Matrix& vectors,
                                  std::size_t kept);
};

/// Bytes of factors of at most this rank for tokens x channels numbers: U, V and the singular values, 2 bytes each.
constexpr std::int64_t low_rank_bytes(std::int64_t rank, std::int64_t tokens, std::int64_t channels) {
  return std::min({rank, tokens, channels}) * (tokens + channels + 1) * 2;
}

}  // namespace kvplan::formats
