#include "simulator/formats/four_bit.h"

#include <cmath>

#include "simulator/formats/small_floats.h"

namespace kvplan::formats {

void FourBit::on_append() {
  if (in_prompt()) on_prompt();
  for (const Side side : kSides)
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      Plane& plane = plane_of(side, h);
      const auto group = static_cast<std::size_t>(plane.group());
      for (std::int32_t i = fresh(h); i < plane.tokens(); ++i) {
        const std::int32_t block = plane.begin_block(std::int64_t{plane.size()} * 4);
        for (std::size_t g = 0; g < static_cast<std::size_t>(plane.width()); ++g) {
          const auto x = plane.stored(i).subspan(g * group, group);
          const auto codes = plane.codes(i).subspan(g * group, group);
          const double scale = scale_of(side, x);
          plane.scales(block)[g] = scale;
          for (std::size_t c = 0; c < group; ++c) {
            const Rounded rounded = round_to(kE2m1, scale > 0 ? x[c] / scale : std::copysign(0.0, x[c]));
            codes[c] = static_cast<std::uint8_t>(rounded.code);
            x[c] = rounded.value * scale;
          }
        }
        plane.join(i, block);
      }
    }
}

Regions four_bit_bytes(const Shape& shape, const Lengths& lengths, Side side, std::int32_t block) {
  Regions out = split_bytes(shape, side, {.coded = lengths.stored()}, 4);
  out.scales = shape.kv_heads * lengths.stored() * (shape.size(side) / block);
  return out;
}

Status check_blocks(const Choice& choice, const Shape& shape, std::int32_t block) {
  for (const Side side : kSides)
    if (shape.size(side) % block != 0)
      return bad_input("expected keys and values of a multiple of " + std::to_string(block) +
                       " channels, found " + std::to_string(shape.size(side)))
          .at_field(choice.name());
  return Done{};
}

}  // namespace kvplan::formats
