#include "simulator/formats/low_rank.h"

#include <utility>

namespace kvplan::formats {

Matrix LowRankCodec::rows_of(const Plane& plane, std::int32_t begin, std::int32_t end) {
  Matrix out(static_cast<std::size_t>(end - begin), static_cast<std::size_t>(plane.size()));
  for (std::int32_t i = begin; i < end; ++i) {
    const auto x = plane.stored(i);
    std::copy(x.begin(), x.end(), out.row(static_cast<std::size_t>(i - begin)).begin());
  }
  return out;
}

std::int64_t LowRankCodec::truncate(Plane& plane, std::int32_t begin, std::int32_t end, std::int64_t rank) {
  const RightSingular found = right_singular(rows_of(plane, begin, end));
  return project_all(plane, begin, end, found.vectors,
                     std::min(static_cast<std::size_t>(rank), found.values.size()));
}

std::int64_t LowRankCodec::truncate_by_energy(Plane& plane, std::int32_t begin, std::int32_t end,
                                              double energy) {
  const RightSingular found = right_singular(rows_of(plane, begin, end));
  double all = 0;
  for (const double value : found.values) all += value * value;
  std::size_t kept = 1;
  double held = found.values.front() * found.values.front();
  for (; kept < found.values.size() && held < energy * all; ++kept)
    held += found.values[kept] * found.values[kept];
  return project_all(plane, begin, end, found.vectors, kept);
}

std::int64_t LowRankCodec::project_all(Plane& plane, std::int32_t begin, std::int32_t end,
                                       const Matrix& vectors, std::size_t kept) {
  const std::int32_t block = plane.begin_block(0);
  for (std::int32_t i = begin; i < end; ++i) {
    project(vectors, kept, plane.stored(i));
    plane.join(i, block);
  }
  return static_cast<std::int64_t>(kept);
}

std::int64_t LowRankCodec::exact_bytes(Side side) const {
  std::int64_t out = 0;
  for (const Plane& plane : planes(side)) out += plane.exact_tokens() * plane.size() * kBytes;
  return out;
}

}  // namespace kvplan::formats
