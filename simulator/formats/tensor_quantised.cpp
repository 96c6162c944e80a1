#include "simulator/formats/tensor_quantised.h"

#include <algorithm>
#include <cmath>

#include "simulator/formats/small_floats.h"

namespace kvplan::formats {
namespace {

constexpr std::int64_t kScaleBytes = 4;

Layout layout(const Shape& shape) {
  return {.key_group = shape.key_size,
          .value_group = shape.value_size,
          .scale_bytes = kScaleBytes,
          .zero_bytes = 0,
          .form = CodeForm::kSigned};
}

}  // namespace

TensorQuantised::TensorQuantised(const Shape& shape, const TensorQuantiser& quantiser)
    : QuantisedCodec(shape, layout(shape)), quantiser_(quantiser) {}

Regions TensorQuantised::regions(Side side) const {
  Regions out = QuantisedCodec::regions(side);
  // All heads share a scale.
  std::int64_t scales = 0;
  const auto heads = planes(side);
  for (std::int32_t block = 0; block < heads.front().blocks(); ++block)
    scales += std::any_of(heads.begin(), heads.end(),
                          [block](const Plane& plane) { return plane.members(block) > 0; })
                  ? 1
                  : 0;
  out.scales = scales * kScaleBytes;
  return out;
}

double TensorQuantised::fresh_scale(Side side) const {
  double most = 0;
  for (std::int32_t h = 0; h < shape().kv_heads; ++h)
    for (std::int32_t i = fresh(h); i < plane(side, h).tokens(); ++i)
      most = std::max(most, greatest_size(plane(side, h).stored(i)));
  return to_single(most / static_cast<double>(greatest_code(quantiser_.bits)));
}

void TensorQuantised::rescale(Side side, double scale) {
  const auto most = static_cast<double>(greatest_code(quantiser_.bits));
  for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
    Plane& plane = plane_of(side, h);
    const double before = plane.scales(0)[0];
    plane.scales(0)[0] = scale;
    for (std::int32_t i = 0; i < fresh(h); ++i) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(plane.size()); ++c) {
        std::uint8_t& code = plane.codes(i)[c];
        const double old = static_cast<double>(static_cast<std::int8_t>(code)) * before;
        const double next = std::clamp(std::nearbyint(old / scale), -most - 1, most);
        code = static_cast<std::uint8_t>(static_cast<std::int8_t>(next));
        plane.stored(i)[c] = next * scale;
      }
      plane.rewritten(i);
    }
  }
}

void TensorQuantised::encode(Side side) {
  const double found = fresh_scale(side);
  const bool chunk = quantiser_.scale == ScaleOf::kChunk;
  if (quantiser_.scale == ScaleOf::kRunning && !in_prompt() && found > plane(side, 0).scales(0)[0])
    rescale(side, found);
  for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
    Plane& plane = plane_of(side, h);
    std::int32_t block = 0;
    if (chunk || in_prompt()) {
      block = plane.begin_block(std::int64_t{plane.size()} * quantiser_.bits);
      plane.scales(block)[0] = found;
    }
    for (std::int32_t i = fresh(h); i < plane.tokens(); ++i) {
      quantise_symmetric({.x = plane.stored(i).data(),
                          .codes = plane.codes(i).data(),
                          .count = static_cast<std::size_t>(plane.size())},
                         quantiser_.bits, plane.scales(block)[0], quantiser_.rounding);
      plane.join(i, block);
    }
  }
}

void TensorQuantised::on_append() {
  for (const Side side : kSides) encode(side);
}

Regions tensor_bytes(const TensorQuantiser& quantiser, const Shape& shape, const NewestTokens& tokens,
                     Side side) {
  Regions out = split_bytes(shape, side, {.coded = tokens.newest}, quantiser.bits);
  const std::int64_t of_steps = std::min(tokens.newest, tokens.generated);
  const std::int64_t of_prompt = tokens.newest > tokens.generated ? 1 : 0;
  const std::int64_t shared = tokens.newest > 0 ? 1 : 0;
  out.scales = (quantiser.scale == ScaleOf::kChunk ? of_steps + of_prompt : shared) * kScaleBytes;
  return out;
}

std::int64_t chunk_scale_bytes(const Lengths& lengths) {
  const Left left(lengths);
  const std::int64_t of_prompt = left.tokens(0, lengths.prompt) > 0 ? 1 : 0;
  return (of_prompt + left.tokens(lengths.prompt, lengths.appended())) * kScaleBytes;
}

TensorQuantiser tensor_quantiser_of(const Choice& choice) {
  const std::string& scale = choice.text(kScaleParam.name);
  return {.bits = static_cast<int>(choice.integer("bits")),
          .scale = scale == "chunk"    ? ScaleOf::kChunk
                   : scale == "static" ? ScaleOf::kStatic
                                       : ScaleOf::kRunning,
          .rounding = choice.text("rounding") == "even" ? Rounding::kEven : Rounding::kTruncate};
}

}  // namespace kvplan::formats
