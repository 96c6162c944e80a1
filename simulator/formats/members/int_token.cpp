// Integers with a scale for each token, or for each group of its channels.
#include <array>

#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"
#include "simulator/formats/small_floats.h"

namespace kvplan::formats::int_token {
namespace {

constexpr std::array kParams{bits_param("Bits per code", "8"), kGroupParam,
                             Param{.name = "symmetric",
                                   .help = "Symmetric codes without zero points; otherwise codes between the "
                                           "smallest and the largest number",
                                   .kind = ParamKind::kFlag,
                                   .fallback = "false"}};

class IntToken final : public QuantisedCodec {
 public:
  IntToken(const Shape& shape, const Layout& layout, int bits) : QuantisedCodec(shape, layout), bits_(bits) {}

 protected:
  void on_append() override {
    for (const Side side : kSides)
      for (std::int32_t h = 0; h < shape().kv_heads; ++h)
        for (std::int32_t i = fresh(h); i < plane(side, h).tokens(); ++i) encode(plane_of(side, h), i);
  }

 private:
  void encode(Plane& plane, std::int32_t i) const {
    if (code_form() == CodeForm::kElements) return encode_token(plane, i, bits_);
    const std::int32_t block = plane.begin_block(std::int64_t{plane.size()} * bits_);
    const auto group = static_cast<std::size_t>(plane.group());
    for (std::size_t g = 0; g < static_cast<std::size_t>(plane.width()); ++g) {
      const auto x = plane.stored(i).subspan(g * group, group);
      const double scale = to_half(greatest_size(x) / static_cast<double>(greatest_code(bits_)));
      plane.scales(block)[g] = scale;
      quantise_symmetric({.x = x.data(), .codes = plane.codes(i).data() + g * group, .count = group}, bits_,
                         scale, Rounding::kEven);
    }
    plane.join(i, block);
  }

  int bits_;
};

Status check(const Choice& choice, const Shape& shape, std::int64_t /*prompt*/) {
  return check_group(choice, kGroupParam.name, shape);
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  const std::int64_t group = choice.integer(kGroupParam.name);
  const bool symmetric = choice.flag("symmetric");
  const Layout layout{.key_group = group_of(group, shape.key_size),
                      .value_group = group_of(group, shape.value_size),
                      .scale_bytes = 2,
                      .zero_bytes = symmetric ? 0 : 2,
                      .form = symmetric ? CodeForm::kSigned : CodeForm::kElements};
  return std::make_unique<IntToken>(shape, layout, static_cast<int>(choice.integer("bits")));
}

/// A scale and, unless codes are symmetric, a zero point of 2 bytes for each group of channels of each token.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  Regions out = split_bytes(shape, side, {.coded = lengths.stored()}, choice.integer("bits"));
  const std::int32_t size = shape.size(side);
  const std::int32_t groups = size / group_of(choice.integer(kGroupParam.name), size);
  out.scales = shape.kv_heads * lengths.stored() * groups * 2;
  out.zeros = choice.flag("symmetric") ? 0 : out.scales;
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "int-token",
                   .summary =
                       "Integers with a 2-byte scale and zero point per token, or per group of its channels",
                   .source = "kvplan",
                   .params = kParams},
    .golden_name = "int_token",
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = always_by_count, .paging = always_in_tokens}};

}  // namespace kvplan::formats::int_token
