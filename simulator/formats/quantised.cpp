#include "simulator/formats/quantised.h"

namespace kvplan::formats {

Regions QuantisedCodec::regions(Side side) const {
  Regions out;
  std::int64_t code_bits = 0;
  for (const Plane& plane : planes(side)) {
    code_bits += plane.code_bits();
    out.scales += plane.live_blocks() * plane.width() * layout_.scale_bytes;
    out.zeros += plane.live_blocks() * plane.width() * layout_.zero_bytes;
    out.exact += plane.exact_tokens() * plane.size() * 2;
  }
  out.codes = (code_bits + 7) / 8;
  return out;
}

Coded QuantisedCodec::coded(Side side, std::int32_t head, std::int32_t index, std::int32_t channel) const {
  Coded out = Codec::coded(side, head, index, channel);
  const Plane& plane = this->plane(side, head);
  if (out.scale && layout_.zero_bytes > 0)
    out.zero = plane.zeros(plane.block(index))[static_cast<std::size_t>(channel / plane.group())];
  return out;
}

void QuantisedCodec::encode_token(Plane& plane, std::int32_t i, int bits) {
  const std::int32_t block = plane.begin_block(std::int64_t{plane.size()} * bits);
  const auto group = static_cast<std::size_t>(plane.group());
  for (std::size_t g = 0; g < static_cast<std::size_t>(plane.width()); ++g) {
    const ScaleZero found = quantise_between(
        {.x = plane.stored(i).data() + g * group, .codes = plane.codes(i).data() + g * group, .count = group},
        bits);
    plane.scales(block)[g] = found.scale;
    plane.zeros(block)[g] = found.zero;
  }
  plane.join(i, block);
}

void QuantisedCodec::encode_channels(Plane& plane, std::int32_t begin, std::int32_t end, int bits) {
  const std::int32_t block = plane.begin_block(std::int64_t{plane.size()} * bits);
  const auto size = static_cast<std::size_t>(plane.size());
  for (std::size_t c = 0; c < size; ++c) {
    const ScaleZero found = quantise_between({.x = plane.stored(begin).data() + c,
                                              .codes = plane.codes(begin).data() + c,
                                              .count = static_cast<std::size_t>(end - begin),
                                              .stride = size},
                                             bits);
    plane.scales(block)[c] = found.scale;
    plane.zeros(block)[c] = found.zero;
  }
  for (std::int32_t i = begin; i < end; ++i) plane.join(i, block);
}

std::int32_t QuantisedCodec::tail(const Plane& plane) {
  std::int32_t begin = plane.tokens();
  while (begin > 0 && plane.block(begin - 1) == Plane::kExact) --begin;
  return plane.tokens() - begin;
}

}  // namespace kvplan::formats
