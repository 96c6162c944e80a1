// Symmetric integers with one scale for all heads and tokens of an append.
#include "simulator/formats/tensor_quantised.h"

namespace kvplan::formats::int_tensor {
namespace {

constexpr std::array kParams{bits_param("Bits per code", "8"), kScaleParam, rounding_param("even")};

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<TensorQuantised>(shape, tensor_quantiser_of(choice));
}

Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const TensorQuantiser quantiser = tensor_quantiser_of(choice);
  Regions out =
      tensor_bytes(quantiser, shape, {.newest = lengths.stored(), .generated = lengths.generated}, side);
  if (quantiser.scale == ScaleOf::kChunk && lengths.dropped > 0)
    out.scales = chunk_scale_bytes(lengths);  // the first tokens may stay while later ones are dropped
  return out;
}

/// If each append has a scale, the prompt's scale stays until all of its tokens are dropped.
bool by_count(const Choice& choice) {
  return tensor_quantiser_of(choice).scale != ScaleOf::kChunk;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "int-tensor",
                   .summary = "Symmetric integers; all heads and tokens of one append share a 4-byte scale",
                   .source = "kvplan",
                   .params = kParams},
    .golden_name = "int_tensor",
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = by_count, .by_position = always_by_position}};

}  // namespace kvplan::formats::int_tensor
