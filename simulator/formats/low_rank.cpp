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
  const std::size_t kept = std::min(static_cast<std::size_t>(rank), found.values.size());
  const std::int32_t block = plane.begin_block(0);
  for (std::int32_t i = begin; i < end; ++i) {
    project(found.vectors, kept, plane.stored(i));
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
