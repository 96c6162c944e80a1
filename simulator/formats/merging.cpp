#include "simulator/formats/merging.h"

#include <algorithm>

#include "simulator/formats/small_floats.h"

namespace kvplan::formats {

Regions MergingCodec::regions(Side side) const {
  Regions out;
  for (const Plane& plane : planes(side)) out.exact += std::int64_t{plane.tokens()} * plane.size() * 2;
  return out;
}

void MergingCodec::put(Plane& plane, std::int32_t i, std::span<const double> numbers) {
  std::transform(numbers.begin(), numbers.end(), plane.stored(i).begin(), to_half);
  plane.rewritten(i);
}

std::vector<std::int32_t> MergingCodec::staying(const Plane& plane, std::span<const std::int32_t> gone) {
  std::vector<std::int32_t> out;
  for (std::int32_t i = 0; i < plane.tokens(); ++i)
    if (!std::binary_search(gone.begin(), gone.end(), i)) out.push_back(i);
  return out;
}

Regions merged_bytes(const Choice& /*choice*/, const Shape& shape, const Lengths& lengths, Side side) {
  return split_bytes(shape, side, {.exact = lengths.stored()}, 0);
}

}  // namespace kvplan::formats
