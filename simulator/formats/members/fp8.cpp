// One byte of floating point for each element.
#include <algorithm>
#include <array>

#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"
#include "simulator/formats/small_floats.h"

namespace kvplan::formats::fp8 {
namespace {

constexpr std::array<std::string_view, 2> kTypes{"e4m3", "e5m2"};
constexpr std::array<std::string_view, 2> kScales{"one", "amax"};
constexpr std::array<std::string_view, 2> kPer{"tensor", "head"};
constexpr std::array kParams{
    Param{.name = "type",
          .help = "E4M3 has 4 exponent and 3 mantissa bits, E5M2 has 5 and 2",
          .kind = ParamKind::kText,
          .fallback = "e4m3",
          .choices = kTypes},
    Param{.name = "scale",
          .help = "one: the scale is 1. amax: the scale is the prompt's largest absolute number divided by "
                  "the type's largest, and stays fixed",
          .kind = ParamKind::kText,
          .fallback = "one",
          .choices = kScales},
    Param{.name = "per",
          .help =
              "What shares one scale: the keys (and the values) of all heads together, or those of each head",
          .kind = ParamKind::kText,
          .fallback = "tensor",
          .choices = kPer}};

struct Kind {
  SmallFloat type;
  bool scaled;
  bool per_head;
};

Layout layout(const Shape& shape) {
  return {.key_group = shape.key_size, .value_group = shape.value_size, .scale_bytes = 4, .zero_bytes = 0};
}

class Fp8 final : public QuantisedCodec {
 public:
  Fp8(const Shape& shape, const Kind& kind) : QuantisedCodec(shape, layout(shape)), kind_(kind) {}

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out = QuantisedCodec::regions(side);
    out.scales = kind_.scaled ? (kind_.per_head ? 4 * shape().kv_heads : 4) : 0;
    return out;
  }

 protected:
  void on_append() override {
    for (const Side side : kSides) {
      if (in_prompt()) begin(side);
      for (std::int32_t h = 0; h < shape().kv_heads; ++h)
        for (std::int32_t i = fresh(h); i < plane(side, h).tokens(); ++i) encode(plane_of(side, h), i);
    }
  }

 private:
  [[nodiscard]] double scale_of(double most) const {
    const double scale = to_single(most / kind_.type.largest);
    return scale > 0 ? scale : 1.0;
  }

  /// Begins block 0 of each plane, which has all its tokens.
  void begin(Side side) {
    std::vector<double> most;
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      most.push_back(0);
      for (std::int32_t i = 0; i < plane(side, h).tokens(); ++i)
        most.back() = std::max(most.back(), greatest_size(plane(side, h).stored(i)));
    }
    const double greatest = *std::max_element(most.begin(), most.end());
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      Plane& plane = plane_of(side, h);
      plane.begin_block(std::int64_t{plane.size()} * 8);
      const double of = kind_.per_head ? most[static_cast<std::size_t>(h)] : greatest;
      plane.scales(0)[0] = kind_.scaled ? scale_of(of) : 1.0;
    }
  }

  void encode(Plane& plane, std::int32_t i) const {
    const double scale = plane.scales(0)[0];
    for (std::size_t c = 0; c < static_cast<std::size_t>(plane.size()); ++c) {
      const Rounded rounded = round_to(kind_.type, plane.stored(i)[c] / scale);
      plane.codes(i)[c] = static_cast<std::uint8_t>(rounded.code);
      plane.stored(i)[c] = rounded.value * scale;
    }
    plane.join(i, 0);
  }

  Kind kind_;
};

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Fp8>(shape, Kind{.type = choice.text("type") == "e4m3" ? kE4m3 : kE5m2,
                                           .scaled = choice.text("scale") == "amax",
                                           .per_head = choice.text("per") == "head"});
}

/// One byte per element; scales of 4 bytes if there are any, however many tokens.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  Regions out = split_bytes(shape, side, {.coded = lengths.stored()}, 8);
  const std::int64_t scales = choice.text("per") == "head" ? shape.kv_heads : 1;
  out.scales = choice.text("scale") == "amax" ? scales * 4 : 0;
  return out;
}

/// With such a scale, tokens are encoded when the prompt is complete, because only then its greatest number is known.
Paging paging(const Choice& choice) {
  return choice.text("scale") == "amax" ? Paging::kOwn : Paging::kTokens;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "fp8",
         .summary =
             "1 byte of floating point per element; the scale is 1 or follows the prompt's largest number",
         .source = "OCP 8-bit Floating Point Specification 1.0",
         .params = kParams,
         .divergences = "Numbers that are too large become the largest finite one in both types. The "
                        "specification leaves this open for E5M2, which has infinities."},
    .golden_name = "fp8",
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = always_by_count, .paging = paging}};

}  // namespace kvplan::formats::fp8
